//! The gateway: what it adds to the first streamed byte of a model's answer.

use anyhow::{Result, ensure};
use hive_tests::TestHive;
use hive_tests::wait::SOON;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::peers::hive::create;
use crate::report::Figure;
use crate::scale::Scale;
use crate::stats::{Spread, Times, median, now};
use crate::upstream::Upstream;

const GROUP: &str = "gateway";
const BODY: &str = r#"{"model":"haiku","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}"#;

/// # Errors
/// When the model does not answer.
pub async fn measure(scale: &Scale) -> Result<Vec<Figure>> {
    let upstream = Upstream::start().await?;
    let setup = TestHive::builder()
        .by_hand()
        .set("gateway.upstream", format!("http://{}", upstream.address))
        .env("ANTHROPIC_API_KEY", "bench");
    let mut hive = setup.start().await;
    create(&mut hive, "bee").await?;
    let socket = hive.agent_sockets("bee").join("gateway.sock");
    hive_tests::wait::until("the gateway's socket", SOON, || {
        std::future::ready(socket.exists().then_some(()))
    })
    .await;
    let mut direct = TcpStream::connect(upstream.address).await?;
    direct.set_nodelay(true)?;
    let mut gateway = UnixStream::connect(&socket).await?;
    let (mut without, mut with, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scale.runs {
        let one = first_bytes(&mut direct, scale.calls).await?;
        let other = first_bytes(&mut gateway, scale.calls).await?;
        added.push((other.p50 - one.p50) / 1000.0);
        without.push(one);
        with.push(other);
    }
    let what = "request → first streamed byte";
    Ok(vec![
        Figure::spread(GROUP, what, "hive", Spread::of_runs(&with)),
        Figure::spread(GROUP, what, "direct", Spread::of_runs(&without)),
        Figure::new(
            GROUP,
            "gateway: added to the first streamed byte",
            "hive",
            median(&added),
            "ms",
        ),
    ])
}

/// So many calls one after the other on one connection.
async fn first_bytes<S>(stream: &mut S, calls: u32) -> Result<Spread>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: model\r\ncontent-type: application/json\r\n\
         anthropic-version: 2023-06-01\r\nx-api-key: bench\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut times = Times::default();
    let mut buffer = vec![0; 64 * 1024];
    for call in 0..=calls {
        let begin = now();
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        let mut first = None;
        while !answer.ends_with(b"0\r\n\r\n") {
            let n = stream.read(&mut buffer).await?;
            ensure!(
                n > 0,
                "the connection was closed: {}",
                String::from_utf8_lossy(&answer)
            );
            answer.extend_from_slice(&buffer[..n]);
            if first.is_none() && contains(&answer, b"event:") {
                first = Some(now() - begin);
            }
        }
        let first = first.filter(|_| call > 0);
        ensure!(
            first.is_some() || call == 0,
            "nothing was streamed: {}",
            String::from_utf8_lossy(&answer)
        );
        first.into_iter().for_each(|nanos| times.note(nanos));
    }
    Ok(times.spread())
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
