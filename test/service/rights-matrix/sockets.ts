import { rowsOf } from '../../../src/protocol/row-list.ts';
import type { TableRows } from '../../../src/protocol/v2/server-message.ts';
import type { Person } from '../running.ts';
import { Guest } from '../socket-guest.ts';
import type { MatrixRow } from './table.ts';
import { wordFor } from './words.ts';

/** One caller's connection, and the words for what it is answered. */
export class Line {
  readonly #guest: Guest;
  #lastId = 0;

  private constructor(guest: Guest) {
    this.#guest = guest;
  }

  static async open(
    { url, database, version }: { url: string; database: string; version: string },
    as: Person | undefined,
  ): Promise<Line> {
    const headers: Record<string, string> =
      as === undefined ? {} : { authorization: `Bearer ${as.token}` };
    const protocols = [`${version}.bsatn.spacetimedb`];
    return new Line(await Guest.arrive(url, database, { protocols, headers }));
  }

  async close(): Promise<void> {
    await this.#guest.client.close();
  }

  /** Does what a row of the table says. */
  act({ label, code }: MatrixRow): Promise<string> {
    if (label.startsWith('subscribe to ')) return this.#subscribe(code);
    if (label.startsWith('ask once ')) return this.#askOnce(code);
    const procedure = procedures[label];
    return procedure === undefined ? this.#call(label) : this.#run(procedure);
  }

  async #subscribe(query: string): Promise<string> {
    const id = ++this.#lastId;
    this.#guest.subscribe(id, id, query);
    const answer = await this.#guest.next();
    if (answer.kind === 'subscriptionError') return wordFor(answer.error);
    if (answer.kind !== 'subscribeApplied') return answer.kind;
    const tables = answer.tables.filter(hasRows).map(({ table }) => table);
    const send = { requestId: id, querySetId: id, sendDroppedRows: false };
    this.#guest.send({ kind: 'unsubscribe', ...send });
    await this.#guest.expect('unsubscribeApplied');
    if (query === 'SELECT * FROM *') return wholes[tables.sort().join()] ?? tables.join();
    return tables.length === 0 ? 'no rows' : 'yes';
  }

  async #askOnce(query: string): Promise<string> {
    this.#guest.send({ kind: 'oneOffQuery', requestId: ++this.#lastId, query });
    const { result } = await this.#guest.expect('oneOffQueryResult');
    if (result.kind === 'err') return wordFor(result.error);
    return result.tables.some(hasRows) ? 'yes' : 'no rows';
  }

  async #call(label: string): Promise<string> {
    const [reducer, ...args] = calls[label] ?? [label];
    this.#guest.call(++this.#lastId, reducer, ...args);
    const { outcome } = await this.#guest.expect('reducerResult');
    if (outcome.kind === 'ok' || outcome.kind === 'okEmpty') return 'yes';
    return wordFor('message' in outcome ? outcome.message : outcome.kind);
  }

  async #run(procedure: string): Promise<string> {
    const requestId = ++this.#lastId;
    this.#guest.send({ kind: 'callProcedure', requestId, procedure, args: new Uint8Array(0) });
    const { status } = await this.#guest.expect('procedureResult');
    return status.kind === 'returned' ? 'yes' : wordFor(status.message);
  }
}

const procedures: Readonly<Record<string, string>> = {
  'call a procedure': 'count_notes',
  'call a private procedure': 'sweep',
};

const calls: Readonly<Record<string, readonly [string, ...number[]]>> = {
  'call a reducer': ['put_note', 1],
  'call a private reducer': ['tidy'],
  'call a lifecycle reducer': ['begin'],
};

/** What \`SELECT * FROM *\` may give: of \`diary\`, strangers see no row. */
const wholes: Readonly<Record<string, string>> = {
  'all_secrets,crowd,note': 'public',
  'all_secrets,crowd,diary,note,own_secrets,secret': 'all',
  'diary,note,secret': 'listed',
};

function hasRows({ rows }: TableRows): boolean {
  return [...rowsOf(rows)].length > 0;
}
