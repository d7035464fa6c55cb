import { setTimeout as pause } from 'node:timers/promises';
import { type Client, connect } from '../../../src/client/index.ts';
import type { Random } from '../../../src/testing/random.ts';
import type { HttpCaller } from './http-caller.ts';
import type { Ledger } from './ledger.ts';
import type * as market from './market.ts';
import { priceCount, textLengthMax, zoneCount } from './sizes.ts';
import type { V2Caller } from './v2-caller.ts';

/** Whatever the operations go through. */
export interface Means {
  readonly url: string;
  readonly database: string;
  readonly tokens: readonly string[];
  readonly http: HttpCaller;
  readonly sockets: readonly V2Caller[];
  readonly clients: readonly Client<typeof market>[];
  readonly ledger: Ledger;
  readonly random: Random;
  /** Clients and query sets that came and have not left yet: how each is ended. */
  readonly visits: Set<() => Promise<void>>;
}

/** Something that clients do; it rejects when the answer is another than it has to be. */
export interface Operation {
  readonly name: string;
  /** Its share of the mix, in thousandths. */
  readonly weight: number;
  run(): Promise<void>;
}

/** A group of all items: once a second, beside the mix. */
export const groupName = 'sql, group of all';

/** The mix: all that clients do, with its share. */
export function operationsOf(means: Means): readonly Operation[] {
  return [...writes(means), ...reads(means), ...refusals(means), ...visits(means)];
}

function writes({ http, sockets, clients, ledger, random, ...means }: Means): Operation[] {
  const { database, tokens } = means;
  const base = `/v1/database/${database}/call`;
  const text = () => 'x'.repeat(random.below(textLengthMax));
  const call = async (reducer: string, ...args: readonly (number | string)[]): Promise<void> => {
    const path = `${base}/${reducer}?confirmed=${random.chance(0.5)}`;
    const body = JSON.stringify(args);
    await http.ask({ path, body, isJson: true, token: random.pick(tokens) });
  };
  const change = async (bump: (id: number, text: string) => Promise<unknown>): Promise<void> => {
    const id = random.below(ledger.itemCount);
    await bump(id, text());
    ledger.changed(id);
  };
  const turnOver = async (
    add: (id: number, zone: number, text: string) => Promise<unknown>,
    remove: (id: number) => Promise<unknown>,
  ): Promise<void> => {
    const oldest = ledger.takeEntry();
    if (oldest !== undefined) {
      await remove(oldest);
      return;
    }
    const id = ledger.newEntry();
    await add(id, random.below(zoneCount), text());
    ledger.added(id);
  };
  return [
    operation('update, HTTP', 80, () => change((...args) => call('bump', ...args))),
    operation('update, v2', 120, () =>
      change((...args) => random.pick(sockets).call('bump', ...args)),
    ),
    operation('update, client', 180, () =>
      change((id, words) => random.pick(clients).reducers.bump({ id, text: words })),
    ),
    operation('insert or delete, HTTP', 60, () =>
      turnOver(
        (...args) => call('add', ...args),
        (id) => call('remove', id),
      ),
    ),
    operation('insert or delete, v2', 80, () =>
      turnOver(
        (...args) => random.pick(sockets).call('add', ...args),
        (id) => random.pick(sockets).call('remove', id),
      ),
    ),
    operation('insert or delete, client', 80, () =>
      turnOver(
        (id, zone, words) => random.pick(clients).reducers.add({ id, zone, text: words }),
        (id) => random.pick(clients).reducers.remove({ id }),
      ),
    ),
  ];
}

function reads({ http, sockets, clients, ledger, random, database, tokens }: Means): Operation[] {
  const base = `/v1/database/${database}`;
  const token = () => (random.chance(0.8) ? random.pick(tokens) : undefined);
  const rows = async (statement: string): Promise<unknown[][]> => {
    const text = await http.ask({ path: `${base}/sql`, body: statement, token: token() });
    return JSON.parse(text)[0].rows;
  };
  const anyItem = () => random.below(ledger.itemCount);
  const tool = async (name: string, args: object): Promise<void> => {
    const params = { name, arguments: args };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const text = await http.ask({ path: `${base}/mcp`, body, isJson: true, token: token() });
    const { result } = JSON.parse(text);
    expect(result?.isError !== true && result?.content?.length > 0, text);
  };
  return [
    operation('sql, one row, HTTP', 110, async () => {
      const id = anyItem();
      const [found] = await rows(`SELECT * FROM item WHERE id = ${id}`);
      expect(found?.[0] === id, `item ${id}: ${found}`);
    }),
    operation('sql, one row, v2', 40, async () => {
      const id = anyItem();
      const count = await random.pick(sockets).countRows(`SELECT * FROM item WHERE id = ${id}`);
      expect(count === 1, `item ${id}: ${count} rows`);
    }),
    operation('sql, range, HTTP', 60, async () => {
      const from = random.below(priceCount - 20);
      const between = `price >= ${from} AND price < ${from + 20}`;
      const found = await rows(`SELECT price, id FROM item WHERE ${between}`);
      const isRight = (price: unknown) => Number(price) >= from && Number(price) < from + 20;
      expect(
        found.every(([price]) => isRight(price)),
        `prices from ${from}: ${found}`,
      );
    }),
    operation('sql, range, client', 40, async () => {
      const from = random.below(priceCount - 20);
      const query = 'SELECT * FROM item WHERE price >= :from AND price < :to';
      await random.pick(clients).query(query, { params: { from, to: from + 20 } });
    }),
    operation('sql, order and limit', 30, async () => {
      const inZone = `zone = ${random.below(zoneCount)}`;
      const found = await rows(
        `SELECT price, id FROM item WHERE ${inZone} ORDER BY price DESC LIMIT 10`,
      );
      const prices = found.map(([price]) => Number(price));
      const sorted = prices.toSorted((one, other) => other - one);
      expect(prices.length === 10 && prices.join() === sorted.join(), `${prices}`);
    }),
    operation(groupName, 0, async () => {
      const found = await rows(
        'SELECT zone, COUNT(*) AS n, SUM(changes) AS c FROM item GROUP BY zone',
      );
      const count = found.reduce((sum, [, n]) => sum + Number(n), 0);
      expect(count === ledger.itemCount, `groups: ${JSON.stringify(found)}`);
    }),
    operation('mcp, sql', 25, () =>
      tool('sql', { sql: `SELECT * FROM item WHERE id = ${anyItem()}` }),
    ),
    operation('mcp, get_schema', 10, () => tool('get_schema', {})),
    operation('schema', 20, async () => {
      const path = `${base}/schema?version=${random.pick([9, 10])}`;
      await http.ask({ method: 'GET', path, token: token() });
    }),
  ];
}

function refusals({ http, clients, ledger, random, database, tokens }: Means): Operation[] {
  const base = `/v1/database/${database}`;
  return [
    operation('refused, HTTP', 25, async () => {
      const [path, body, status] = random.pick([
        ['call/refuse', `[${random.below(ledger.itemCount)}]`, 530],
        ['call/nobody', '[]', 404],
        ['call/bump', '["no number"]', 400],
        ['sql', 'SELECT * FROM nobody', 400],
      ] as const);
      const token = random.pick(tokens);
      await http.ask({ path: `${base}/${path}`, body, isJson: path !== 'sql', token }, status);
    }),
    operation('refused, client', 25, async () => {
      const id = random.below(ledger.itemCount);
      const answer = await random
        .pick(clients)
        .reducers.refuse({ id })
        .then(
          () => 'accepted',
          (error: Error) => error.message,
        );
      expect(answer === 'refused', answer);
    }),
  ];
}

/** Subscriptions that come, stay for a few seconds and go. */
function visits({ url, database, tokens, sockets, random, visits }: Means): Operation[] {
  const stay = (leave: () => Promise<void>): void => {
    const end = async () => {
      if (visits.delete(end)) await leave();
    };
    visits.add(end);
    void pause(random.between(1_000, 4_000)).then(end);
  };
  return [
    operation('visit, client', 5, async () => {
      const token = random.chance(0.5) ? random.pick(tokens) : undefined;
      const client = connect<typeof market>({ uri: url, database, token });
      const leave = async () => client.disconnect();
      try {
        const query = `SELECT * FROM item WHERE zone = ${random.below(zoneCount)}`;
        await client.subscribe(query).applied;
      } catch (error) {
        await leave();
        throw error;
      }
      stay(leave);
    }),
    operation('visit, v2', 10, async () => {
      const query = `SELECT * FROM entry WHERE zone = ${random.below(zoneCount)}`;
      stay(await random.pick(sockets).subscribe(query));
    }),
  ];
}

function operation(name: string, weight: number, run: () => Promise<void>): Operation {
  return { name, weight, run };
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
