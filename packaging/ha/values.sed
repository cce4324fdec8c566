# Values of a cluster for the other files: doc/operations.md, "Failover". The same on all
# machines; a machine's own name and address are given by hand.
s|@DB1@|10.0.0.11|g
s|@DB2@|10.0.0.12|g
s|@DB3@|10.0.0.13|g
# From where candor connects.
s|@CLIENTS@|10.0.0.0/24|g
# Passwords of letters and digits: openssl rand -hex 24
s|@SUPERUSER_PASSWORD@|change-me-1|g
s|@REPLICATION_PASSWORD@|change-me-2|g
s|@REST_PASSWORD@|change-me-3|g
s|@CANDOR_PASSWORD@|change-me-4|g
