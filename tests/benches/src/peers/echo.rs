//! The ceiling: the same request over the same kind of socket, answered by a server that does nothing.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::path::Path;
use std::process::Command;
use std::task::{Context, Poll};

use anyhow::Result;
use async_trait::async_trait;
use futures::future::BoxFuture;
use hive_proto::v1::{
    SendBatchRequest, SendBatchResponse, SendRequest, SendResponse, SendResult, send_result,
};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server as Tonic;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::hive::caller;
use super::server::Server;
use crate::bus::{Bus, Receiver, Sender};

/// A child process that answers.
pub struct Echo {
    server: Server,
}

/// The served half.
#[derive(Clone, Copy, Debug)]
struct Answers;

// === impl Echo ===

impl Echo {
    /// # Errors
    /// When this program cannot be started once more.
    pub async fn start() -> Result<Self> {
        let dir = Server::folder("echo")?;
        let socket = dir.path().join("s");
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["child", "echo"]).arg(&socket);
        let mut server = Server::start(command, dir);
        server.until_there(&socket).await?;
        Ok(Self { server })
    }
}

#[async_trait]
impl Bus for Echo {
    fn name(&self) -> &'static str {
        "echo rpc"
    }

    async fn sender(&self, _n: usize) -> Result<Box<dyn Sender>> {
        Ok(caller(&self.server.path().join("s")))
    }

    async fn receiver(&self) -> Result<Option<Box<dyn Receiver>>> {
        Ok(None)
    }
}

/// Serves on `socket` until the process is ended.
///
/// # Errors
/// When the socket cannot be bound.
pub async fn serve(socket: &Path) -> Result<()> {
    let incoming = UnixListenerStream::new(UnixListener::bind(socket)?);
    Tonic::builder()
        .add_service(Answers)
        .serve_with_incoming(incoming)
        .await?;
    Ok(())
}

impl NamedService for Answers {
    const NAME: &'static str = "hive.v1.AgentService";
}

impl tower::Service<http::Request<Body>> for Answers {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let answer = if request.uri().path().ends_with("/SendBatch") {
                let codec = ProstCodec::<SendBatchResponse, SendBatchRequest>::default();
                Grpc::new(codec).unary(Self, request).await
            } else {
                let codec = ProstCodec::<SendResponse, SendRequest>::default();
                Grpc::new(codec).unary(Self, request).await
            };
            Ok(answer)
        })
    }
}

impl UnaryService<SendRequest> for Answers {
    type Response = SendResponse;
    type Future = Ready<Result<Response<SendResponse>, Status>>;

    fn call(&mut self, request: Request<SendRequest>) -> Self::Future {
        ready(Ok(Response::new(receipt(request.get_ref()))))
    }
}

impl UnaryService<SendBatchRequest> for Answers {
    type Response = SendBatchResponse;
    type Future = Ready<Result<Response<SendBatchResponse>, Status>>;

    fn call(&mut self, request: Request<SendBatchRequest>) -> Self::Future {
        let results = request.get_ref().sends.iter().map(|send| SendResult {
            result: Some(send_result::Result::Ok(receipt(send))),
        });
        let results = results.collect();
        ready(Ok(Response::new(SendBatchResponse { results })))
    }
}

/// As long as hive's own.
fn receipt(request: &SendRequest) -> SendResponse {
    SendResponse {
        id: i64::try_from(request.body.len()).unwrap_or_default(),
        recipient_state: "idle".to_owned(),
        ..Default::default()
    }
}
