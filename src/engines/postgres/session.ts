import type { Client } from 'pg';
import { limits } from '../../limits.ts';
import { historyText } from '../../shared-log/engine-history.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { PostgresPlace } from './postgres-place.ts';

/** What one server said when a session to it began. */
export interface ServerFacts {
  readonly isPrimary: boolean;
  /** Process of the server that runs the session. */
  readonly backend: number;
  readonly timeline: number;
  readonly history: string;
  readonly versionNumber: number;
  readonly settings: Readonly<Record<'fsync' | 'fullPageWrites', string>>;
}

/** Rows of a statement, and whether it came with a notice of severity WARNING or above. */
export interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly isNoticed: boolean;
}

export interface Statement {
  /** Under this name the server keeps it prepared. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * One session at one server. A statement without an answer for too long, and any fault of the
 * connection, end it: what was under way is then unknown.
 */
export class Session {
  readonly server: PostgresPlace['servers'][number];
  readonly facts: ServerFacts;
  readonly #client: Client;
  #isOpen = true;
  #isNoticed = false;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(
    client: Client,
    server: PostgresPlace['servers'][number],
    facts: ServerFacts,
  ) {
    this.#client = client;
    this.server = server;
    this.facts = facts;
    client.on('error', () => this.end());
    client.on('end', () => this.end());
    client.on('notice', ({ severity }) => {
      if (severity !== 'NOTICE' && severity !== 'INFO' && severity !== 'LOG') {
        this.#isNoticed = true;
      }
    });
  }

  /** Connects to one server of the place. Rejects with `EngineError`. */
  static async open(
    place: PostgresPlace,
    server: PostgresPlace['servers'][number],
    commit: 'on' | 'off',
  ): Promise<Session> {
    const { Client: PostgresClient } = (await import('pg')).default;
    const client = new PostgresClient({
      ...server,
      user: place.user,
      password: place.password,
      database: place.database,
      ssl: place.usesTls,
      application_name: 'reducerdb',
      connectionTimeoutMillis: limits.engineConnectMillisMax,
      keepAlive: true,
      options: [
        `-c synchronous_commit=${commit}`,
        '-c statement_timeout=0',
        '-c idle_in_transaction_session_timeout=0',
        '-c lock_timeout=5s',
        '-c default_transaction_isolation=read\\ committed',
      ].join(' '),
    });
    // Before there is a session, the promise of `connect` says what is wrong.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await refuseForeignSession(client, commit);
      return new Session(client, server, await factsOf(client));
    } catch (error) {
      client.end().catch(() => undefined);
      throw unreachedError(server, error);
    }
  }

  /** True if something between this host and the server made the session, such as a pool. */
  get isPassedOn(): boolean {
    return this.facts.backend !== (this.#client as unknown as { processID: number }).processID;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs one statement, behind those before it. Rejects with `EngineError`: unknown effect. */
  run<Row>(statement: Statement): Promise<Answer<Row>> {
    const answer = this.#last.then(() => this.#run<Row>(statement));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #run<Row>({ name, text, values }: Statement): Promise<Answer<Row>> {
    if (!this.#isOpen) throw new EngineError('the session with PostgreSQL has ended');
    this.#isNoticed = false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.end();
        reject(new EngineError('PostgreSQL did not answer in time'));
      }, limits.appendAnswerMillisMax);
    });
    try {
      const asked = this.#client.query({ name, text, values: [...values] });
      asked.catch(() => undefined);
      const { rows } = await Promise.race([asked, late]);
      return { rows, isNoticed: this.#isNoticed };
    } catch (error) {
      if (!isAnsweredError(error)) this.end();
      throw error instanceof EngineError ? error : statementError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Calls `take` for each notification of the channel, from now on. */
  async listen(channel: string, take: (payload: string) => void): Promise<void> {
    this.#client.on('notification', ({ payload }) => take(payload ?? ''));
    await this.run({ name: '', text: `listen ${channel}`, values: [] });
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#client.end().catch(() => undefined);
    // A server that does not answer would keep the connection open.
    (
      this.#client as unknown as { connection: { stream: { destroy(): void } } }
    ).connection.stream.destroy();
  }
}

/**
 * The settings of the session are what `stored` rests on. A pool in transaction mode may drop them,
 * or give the next statement a session with others.
 */
async function refuseForeignSession(client: Client, commit: 'on' | 'off'): Promise<void> {
  const { rows } = await client.query<{ commit: string; locks: string }>(
    `select current_setting('synchronous_commit') as commit,
      current_setting('lock_timeout') as locks`,
  );
  if (rows[0]?.commit !== commit || rows[0].locks !== '5s') throw new EngineError(poolText);
}

/** What is wrong with a pool that does not keep sessions, and what to do. */
export const poolText =
  'A connection pool in front of it does not keep the settings of a session (it drops them, or ' +
  'is in transaction mode). Give the address of the server itself.';

interface FactsRow {
  readonly backend: number;
  readonly recovery: boolean;
  readonly identifier: string;
  readonly timeline: string | null;
  readonly version: string;
  readonly fsync: string;
  readonly pages: string;
}

async function factsOf(client: Client): Promise<ServerFacts> {
  const { rows } = await client.query<FactsRow>(`
    select pg_is_in_recovery() as recovery, pg_backend_pid() as backend,
      (select system_identifier::text from pg_control_system()) as identifier,
      case when pg_is_in_recovery() then null
        else substring(pg_walfile_name(pg_current_wal_lsn()) from 1 for 8) end as timeline,
      current_setting('server_version_num') as version, current_setting('fsync') as fsync,
      current_setting('full_page_writes') as pages`);
  const [row] = rows;
  if (row === undefined) throw new EngineError('PostgreSQL does not say what it is');
  const timeline = Number.parseInt(row.timeline ?? '0', 16);
  return {
    isPrimary: !row.recovery,
    backend: row.backend,
    timeline,
    history: historyText({ kind: 'postgres', identifier: row.identifier, timeline }),
    versionNumber: Number(row.version),
    settings: { fsync: row.fsync, fullPageWrites: row.pages },
  };
}

/** True if the server itself refused: the session goes on. */
function isAnsweredError(error: unknown): boolean {
  const { severity } = error as { readonly severity?: unknown };
  return severity === 'ERROR';
}

function statementError(error: unknown): EngineError {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const text = `PostgreSQL answered with an error: ${String(message)} (${String(code)})`;
  return new EngineError(text, { cause: error });
}

function unreachedError(server: { host: string; port: number }, error: unknown): EngineError {
  const said = error instanceof Error ? error.message : String(error);
  const reason = /unsupported startup parameter/.test(said) ? `${said}. ${poolText}` : said;
  const text = `PostgreSQL at ${server.host}:${server.port} cannot be used: ${reason}`;
  return new EngineError(text, { cause: error });
}
