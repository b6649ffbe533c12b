-- The role and the database of Semblance: it may do what it likes in a schema of its own, and nothing elsewhere.
-- Run once as a superuser, with the password in the environment: docs/deployment/systemd.md shows how.
\set ON_ERROR_STOP on
\getenv password DATABASE_PASSWORD
CREATE ROLE semblance LOGIN PASSWORD :'password'
    NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 64;
CREATE DATABASE semblance TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';
REVOKE ALL ON DATABASE semblance FROM PUBLIC;
GRANT CONNECT ON DATABASE semblance TO semblance;
\connect semblance
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA semblance AUTHORIZATION semblance;
ALTER ROLE semblance IN DATABASE semblance SET search_path = semblance;
