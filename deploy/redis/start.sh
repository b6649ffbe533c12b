#!/bin/sh
# Redis as a cache that may be lost: nothing on disk, the least used goes first, and one user who can only read, write
# and ask whether it answers. The password comes from the environment, so that no list of processes shows it.
set -eu
exec redis-server - "$@" <<END
save ""
appendonly no
maxmemory 512mb
maxmemory-policy allkeys-lru
bind * -::*
user default off resetpass
user semblance on >$REDIS_PASSWORD resetkeys resetchannels ~semblance:* -@all +mget +set +ping
END
