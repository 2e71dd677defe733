//! Signatures as in Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// The key that a webhook's notifications are signed with.
pub(super) struct SigningKey(hmac::Key);

/// What stands for a secret that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the secret is not `whsec_` and the base64 of 24 to 64 bytes")]
pub(super) struct NotASecret;

const PREFIX: &str = "whsec_";

// === impl SigningKey ===

impl SigningKey {
    /// # Errors
    /// When the text is no secret of this kind.
    pub(super) fn parse(secret: &str) -> Result<Self, NotASecret> {
        let text = secret.strip_prefix(PREFIX).ok_or(NotASecret)?;
        let bytes = STANDARD.decode(text).map_err(|_| NotASecret)?;
        if !(24..=64).contains(&bytes.len()) {
            return Err(NotASecret);
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The `webhook-signature` header's value.
    pub(super) fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(format!("{id}.{timestamp}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    }
}

#[cfg(test)]
mod tests {
    use super::SigningKey;

    #[test]
    fn the_specifications_own_example_comes_out() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = key.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn other_texts_are_no_secrets() {
        for text in [
            "",
            "whsec_",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_not base64 at all, is it?",
            "whsec_c2hvcnQ=",
        ] {
            assert!(SigningKey::parse(text).is_err(), "{text}");
        }
    }
}
