//! `[identity]` and `[limits]`: what is read, and what is refused because it would check nothing.

use super::tests::{error, toml};

#[test]
fn identity_and_limits_are_read() {
    let config = toml(
        "[identity.proofs]\njwks_uri = 'https://id.example/keys'\nalgorithms = ['EdDSA', 'RS256']\n\
         cache_ttl_seconds = 60\nmax_age_seconds = 900\nstale_on_error = false\nrequire_sub_match = true\njwks_path = 'keys.json'\n\
         [identity.tokens]\noidc_discovery = 'https://id.example/.well-known/openid-configuration'\n\
         audience = 'docket'\nprofile_claim = 'role'\nall_projects = true\n\
         [limits]\nburst = 10\nper_second = 2\n",
    )
    .expect("a good file");
    let proofs = config.identity.proofs.expect("proofs");
    assert_eq!((proofs.algorithms.len(), proofs.cache_ttl.as_secs(), proofs.stale_on_error), (2, 60, false));
    assert_eq!(proofs.max_age.as_secs(), 900);
    assert!(proofs.require_sub_match);
    assert!(proofs.jwks_path.is_some_and(|path| path.ends_with("keys.json")));
    let tokens = config.identity.tokens.expect("tokens");
    assert_eq!((tokens.claims.profile.as_str(), tokens.claims.principal.as_str()), ("role", "sub"));
    assert!(tokens.all_projects);
    assert_eq!(config.rate.map(|rate| (rate.burst, rate.per_second)), Some((10, 2.0)));
}

#[test]
fn identity_that_would_check_nothing_is_refused() {
    for (text, parts) in [
        ("[identity.proofs]\nissuer = 'x'", vec![":1:", "keys are needed"]),
        ("[identity.proofs]\njwks_uri = 'ftp://x'", vec![":2:12", "https://"]),
        ("[identity.proofs]\njwks_path = 'x'\nalgorithms = ['HS256']", vec![":3:", "EdDSA", "HS256"]),
        ("[identity.proofs]\njwks_path = 'x'\nalgorithms = ['none']", vec![":3:", "none"]),
        ("[identity.proofs]\njwks_path = 'x'\nalgorithms = []", vec![":3:", "at least one"]),
        ("[identity.proofs]\njwks_path = 'x'\naudiance = 'y'", vec![":3:1", "\"audience\""]),
        ("[identity.proofs]\njwks_path = 'x'\ncache_ttl_seconds = 0", vec![":3:", "from 1 to 86400"]),
        ("[identity.proofs]\njwks_path = 'x'\nmax_age_seconds = 86401", vec![":3:", "from 1 to 86400"]),
        ("[identity.tokens]\njwks_path = 'x'\nissuer = 'y'", vec![":1:", "audience"]),
        ("[identity.tokens]\njwks_path = 'x'\naudience = 'y'", vec![":1:", "issuer"]),
        ("[identity]\nprofs = 1", vec![":2:1", "\"proofs\""]),
        ("[limits]\nbrust = 1", vec![":2:1", "\"burst\""]),
        ("[limits]\nburst = 0", vec![":2:9", "from 1"]),
    ] {
        let told = error(toml(text));
        for part in parts {
            assert!(told.contains(part), "{text:?}: {part:?} is not in {told:?}");
        }
    }
}
