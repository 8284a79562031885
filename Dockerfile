# syntax=docker/dockerfile:1
# The docket program in a small image. See docs/guides/fleet.md for how it is run.
#
#   docker build -t docket .
#
# There is no key and no password in the image. `docket serve` on an address that others can reach refuses to start while
# the database has no key: make one first, with the same image and the same DOCKET_DB:
#
#   docker run --rm -v docket:/var/lib/docket docket --project default init
#   docker run --rm -v docket:/var/lib/docket docket key create --profile maintainer --name admin
#   docker run -d   -v docket:/var/lib/docket -p 127.0.0.1:7420:7420 docket

FROM rust:1.95.0-trixie AS build
# rust-toolchain.toml asks for "stable": without this, rustup would fetch whatever is stable on the day of the build.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
COPY . .
# The caches outlive the step, so the program is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --package docket-cli \
    && install -D -m 0755 target/release/docket /out/docket

# The same Debian as above: the program is linked against its glibc. It needs libc, libm and libgcc_s, which are there.
FROM debian:trixie-slim
# For key sets that are fetched by https. Postgres over TLS brings its own roots, or takes sslrootcert.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/docket /usr/local/bin/docket
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /var/lib/docket docket \
    && install -d -o docket -g docket -m 0750 /var/lib/docket
USER 10001:10001
WORKDIR /var/lib/docket
# One file, in a folder that belongs on a volume. For Postgres, set DOCKET_DB to postgres://… and mount nothing.
ENV DOCKET_DB=sqlite:/var/lib/docket/docket.db
EXPOSE 7420
STOPSIGNAL SIGTERM
# bash speaks TCP, so there is no need of a program for it. Requests must name a host that the server answers to.
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s --retries=3 CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7420 && printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r -t 3 line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["docket"]
CMD ["serve", "--listen", "0.0.0.0:7420"]
