"""A real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg
from psycopg import sql

from tests.support.running_service import reserved_port
from tests.support.servers.server_process import ServerProcess
from tests.support.servers.small_disk import SmallDisk
from tests.support.waiting import CEILING_S

USER = "postgres"  # the server refuses to be run by root
NAME = "semblance"
PASSWORD = "kept-on-loopback"
DEBIAN = Path("/usr/lib/postgresql/15/bin")
SMALL = sql.Identifier("small")  # the tablespace on a small disk
TABLES = "tables"  # its folder there


class PostgresServer(ServerProcess):
    """`postgres` in a temporary folder, with fsync on, as in production.

    The role of the service owns its own database and has no other rights.

    Attributes:
        disk: the file system of its tables, after `use_small_disk`; None if they are beside everything else.
    """

    def __init__(self) -> None:
        self.disk: SmallDisk | None = None
        self.port = reserved_port()
        self.url = f"postgresql://{NAME}:{PASSWORD}@127.0.0.1:{self.port}/{NAME}"
        folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # its user may not enter folders of root
        data = folder / "data"
        settings = ["fsync=on", "max_connections=60", "unix_socket_directories="]
        options = [part for each in settings for part in ("-c", each)]
        command = [find_program("postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(self.port), *options]
        super().__init__(command, self._answers, folder, USER)
        self._initialize(data)

    def use_small_disk(self, size: int) -> None:
        """Put the tables on a disk of `size` bytes of their own, where one can be mounted.

        Only tables of a database that is created afterwards. The write-ahead log and all else stay where they were.
        """
        self.disk = SmallDisk.mount(self._folder / "disk", size)
        if self.disk is not None:
            tables = self.disk.folder / TABLES
            tables.mkdir()
            shutil.chown(tables, USER, USER)
            with self._superuser() as connection:
                location = sql.Literal(str(tables))
                connection.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(SMALL, location))

    def create_database(self) -> None:
        """Create the service's role and database; drop existing ones first."""
        role, password = sql.Identifier(NAME), sql.Literal(PASSWORD)
        with self._superuser() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(role))
            connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(role))
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, password))
            place = sql.Identifier("pg_default") if self.disk is None else SMALL
            creation = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 TABLESPACE {}")
            connection.execute(creation.format(role, role, place))
            connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(role))

    def compact(self, table: str) -> None:
        """Leave no free space inside a table, so that writes to it need some of the disk at once."""
        with self._superuser(NAME) as connection:
            connection.execute(sql.SQL("VACUUM (FULL) {}").format(sql.Identifier(table)))

    def open_writes(self) -> int:
        with self._superuser() as connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND backend_xid IS NOT NULL"
            row = connection.execute(query, [NAME]).fetchone()
        assert row is not None
        return int(row[0])

    def save_state(self) -> Path:
        """Shut down, copy all data to a new folder, and start again."""
        saved = Path(tempfile.mkdtemp(prefix="saved-", dir=self._folder))
        self.stop()
        subprocess.run(["cp", "--archive", *self._stored, saved], check=True)
        self.start()
        return saved

    def recover_state(self, saved: Path) -> None:
        """Replace the data of the stopped server by a saved copy; what was written since is lost."""
        for folder in self._stored:
            shutil.rmtree(folder)
            subprocess.run(["cp", "--archive", saved / folder.name, folder], check=True)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Shut down: sessions are aborted, committed data is on disk."""
        super().stop(how)

    def remove(self) -> None:
        self.kill()
        if self.disk is not None:
            self.disk.unmount()
        shutil.rmtree(self._folder)

    @property
    def _stored(self) -> list[Path]:
        return [self._folder / "data", *([] if self.disk is None else [self.disk.folder / TABLES])]

    def _initialize(self, data: Path) -> None:
        """Create a cluster whose superuser has the same password as the role."""
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        owner = USER if os.geteuid() == 0 else None
        if owner:
            for path in (self._folder, secret):
                shutil.chown(path, owner, owner)
        options = ["-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(
            [find_program("initdb"), "-D", str(data), *options],
            check=True,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            user=owner,
            group=owner,
        )

    def _superuser(self, database: str = "postgres") -> psycopg.Connection:
        server = f"host=127.0.0.1 port={self.port} connect_timeout={CEILING_S:g}"
        address = f"{server} user={USER} password={PASSWORD} dbname={database}"
        return psycopg.connect(address, autocommit=True)

    def _answers(self) -> bool:
        try:
            with self._superuser() as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.OperationalError:
            return False


def find_program(name: str) -> str:
    """Path of a PostgreSQL program, from PATH or Debian's folder. Raises FileNotFoundError."""
    path = shutil.which(name) or shutil.which(name, path=str(DEBIAN))
    if path is None:
        raise FileNotFoundError(f"no program {name} of PostgreSQL; install postgresql")
    return path
