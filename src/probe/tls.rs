//! Which certificates are trusted, and the TLS that comes of it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    crypto::verify_tls12_signature, crypto::verify_tls13_signature,
};

/// Which certificates are trusted.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those that this machine trusts.
    System,
    /// Those that these sign.
    These(Vec<CertificateDer<'static>>),
    /// All.
    Anything,
}

/// Takes every certificate, and still wants the handshake signed by its key.
#[derive(Debug)]
struct Anything(Arc<CryptoProvider>);

/// Reads the certificates of a PEM file.
///
/// # Errors
/// When it cannot be read or has none.
pub fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let name = file.display();
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match all {
        Ok(all) if all.is_empty() => Err(format!("{name}: no certificate in it")),
        all => all.map_err(|why| format!("{name}: {why}")),
    }
}

/// What makes TLS connections.
///
/// # Errors
/// When there is nothing to trust.
pub fn connector(trust: &Trust) -> io::Result<TlsConnector> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = match trust {
        Trust::Anything => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anything(provider))).with_no_client_auth()
        }
        Trust::System => builder.with_root_certificates(system()?).with_no_client_auth(),
        Trust::These(certificates) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates {
                roots.add(certificate.clone()).map_err(io::Error::other)?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Why there is no TLS, with what to do about it where that is not plain.
#[must_use]
pub fn words_of(error: &io::Error) -> String {
    let words = error.to_string();
    let why = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    let hint = match why {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "signed by nobody who is trusted here; --cacert FILE names who is"
        }
        // What `openssl req -x509` makes, if it is not told otherwise.
        Some(Error::InvalidCertificate(CertificateError::Other(why)))
            if why.to_string().contains("CaUsedAsEndEntity") =>
        {
            "a self-signed CA certificate, which no server can be trusted by; --insecure takes it"
        }
        _ => return words,
    };
    format!("invalid peer certificate: {hint}")
}

fn system() -> io::Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or_else(String::new, |why| format!(" ({why})"));
        return Err(io::Error::other(format!(
            "this machine trusts no certificates{why}: install ca-certificates, or give --cacert FILE or --insecure"
        )));
    }
    Ok(roots)
}

// === impl Anything ===

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
