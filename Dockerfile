# The image of a release. Build the program first: make packages
#   docker build -t candor .
FROM debian:12-slim AS files
RUN apt-get update \
	&& apt-get install -y --no-install-recommends ca-certificates \
	&& rm -rf /var/lib/apt/lists/*
# /data becomes the folder of documents, /tmp takes uploads while they are checked.
RUN mkdir -m 0700 /data && mkdir -m 1777 /image-tmp

# Nothing else: no shell, no package manager. The program has the zone database and
# the PDF's fonts.
FROM scratch
ARG TARGETARCH=amd64
COPY --from=files /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=files --chown=65532:65532 /data /var/lib/candor
COPY --from=files /image-tmp /tmp
COPY LICENSE bin/NOTICE /usr/share/doc/candor/
COPY dist/candor_linux_${TARGETARCH}/candor /usr/bin/candor
ENV CANDOR_ENV=production \
	CANDOR_ADDR=:8080 \
	CANDOR_METRICS_ADDR=localhost:9090 \
	CANDOR_DATA_DIR=/var/lib/candor
USER 65532:65532
EXPOSE 8080
VOLUME /var/lib/candor
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s CMD ["/usr/bin/candor", "health"]
ENTRYPOINT ["/usr/bin/candor"]
CMD ["serve"]
