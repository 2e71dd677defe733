//! Off-screen notification: a test, what went out and what did not, another try.

use hive_proto::v1;
use tonic::Response;

use super::Reply;
use crate::hive::Hive;
use crate::notify::Listing;
use crate::rpc::status::status;

pub(super) async fn test(
    hive: &Hive,
    request: v1::TestNotifyRequest,
) -> Reply<v1::TestNotifyResponse> {
    let channel = match request.channel.as_str() {
        "" => None,
        name => Some(name),
    };
    let tried = hive.notify.test(channel).await.map_err(status)?;
    let tried = tried.into_iter().map(Into::into).collect();
    Ok(Response::new(v1::TestNotifyResponse { tried }))
}

pub(super) async fn list(
    hive: &Hive,
    request: v1::ListNotificationsRequest,
) -> Reply<v1::ListNotificationsResponse> {
    let listing = match request.all {
        true => Listing::All,
        false => Listing::Unsent,
    };
    let rows = hive.notify.list(listing).await.map_err(status)?;
    let notifications = rows.into_iter().map(Into::into).collect();
    Ok(Response::new(v1::ListNotificationsResponse {
        notifications,
    }))
}

pub(super) async fn retry(
    hive: &Hive,
    request: v1::RetryNotificationRequest,
) -> Reply<v1::Notification> {
    let row = hive.notify.retry(request.id).await.map_err(status)?;
    Ok(Response::new(row.into()))
}
