#!/bin/sh
# What the image of PostgreSQL runs when it makes an empty data folder.
set -eu
exec psql --no-psqlrc --username "${POSTGRES_USER:-postgres}" --dbname postgres --file /etc/semblance/role.sql
