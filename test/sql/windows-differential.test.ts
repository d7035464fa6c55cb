import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kind, Plain } from './differential/kinds.ts';
import { Postgres } from './differential/postgres.ts';
import { disagreement } from './differential/regressions.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
}, 90_000);
afterAll(() => postgres.close());

const hour = 3_600_000_000n;
const noon = 1_739_788_245_000_000n;

/** Equal keys, gaps, ends of the type, and none. */
const keys: Readonly<Partial<Record<Kind, readonly Plain[]>>> = {
  i8: [null, -128n, -2n, -1n, -1n, 0n, 1n, 1n, 3n, 127n, null],
  u32: [0n, 0n, 1n, 2n, 4_294_967_295n, 7n, 7n, 7n, null, 8n, 100n],
  i64: [-(2n ** 63n), -5n, null, 0n, 0n, 2n, 3n, 2n ** 63n - 1n, 2n ** 63n - 2n, 4n, null],
  u256: [0n, 2n ** 256n - 1n, 2n ** 256n - 2n, 1n, 1n, 2n, null, 3n, 5n, 8n, 8n],
  f32: [-1.5, -1, -1, 0, 0.25, 0.5, null, 2, 100, 100, 1_000],
  f64: [0.1, 0.2, 0.30000000000000004, 0.3, null, -0.25, 1e300, -1e300, 1, 1, null],
  timestamp: [0n, hour, hour, 2n * hour, hour + 1n, -hour, null, 5n * hour, 24n * hour].map((at) =>
    at === null ? at : noon + at,
  ),
  duration: [0n, hour, hour, -hour, null, 2n * hour, 3n * hour, 90n * hour, -90n * hour, 1n],
};

/** A literal in both dialects; a duration is a number of microseconds there. */
interface Distance {
  readonly ours: string;
  readonly postgres: string;
}

function distancesOf(kind: Kind): readonly [near: Distance, far: Distance] {
  const same = (text: string): Distance => ({ ours: text, postgres: text });
  if (kind === 'timestamp') return [same("INTERVAL '1 hour'"), same("INTERVAL '1 day'")];
  if (kind === 'duration') {
    const interval = (hours: bigint) => ({
      ours: `INTERVAL '${hours} hours'`,
      postgres: String(hours * hour),
    });
    return [interval(1n), interval(3n)];
  }
  const isFraction = kind === 'f32' || kind === 'f64';
  return isFraction ? [same('0.5'), same('2')] : [same('1'), same('300')];
}

function framesOf(kind: Kind): readonly (readonly (string | Distance)[])[] {
  const [near, far] = distancesOf(kind);
  return [
    ['RANGE ', near, ' PRECEDING'],
    ['RANGE BETWEEN ', near, ' PRECEDING AND ', far, ' FOLLOWING'],
    ['RANGE BETWEEN ', far, ' PRECEDING AND ', near, ' PRECEDING'],
    ['RANGE BETWEEN ', near, ' PRECEDING AND ', far, ' PRECEDING'],
    ['RANGE BETWEEN ', near, ' FOLLOWING AND ', far, ' FOLLOWING'],
    ['RANGE BETWEEN UNBOUNDED PRECEDING AND ', near, ' PRECEDING'],
    ['RANGE BETWEEN ', near, ' FOLLOWING AND UNBOUNDED FOLLOWING'],
    ['RANGE BETWEEN CURRENT ROW AND ', near, ' FOLLOWING'],
    ['RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW'],
    ['GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING'],
  ];
}

const exclusions = ['', ' EXCLUDE NO OTHERS', ' EXCLUDE CURRENT ROW'].concat([
  ' EXCLUDE GROUP',
  ' EXCLUDE TIES',
]);
const directions = ['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'];

/** The calls in a list, with the kinds of their results. */
const calls: readonly (readonly [text: string, cast: string, kind: Kind])[] = [
  ['sum(id)', '', 'i128'],
  ['count(*)', '::numeric', 'u64'],
  ['max(id)', '', 'i64'],
];

/** What differs between the engines for one list of calls over each of these windows. */
async function differs(
  tables: Readonly<Record<string, readonly (readonly Plain[])[]>>,
  windows: readonly { readonly ours: string; readonly postgres: string }[],
  given: typeof calls,
): Promise<string | undefined> {
  const list = (dialect: 'ours' | 'postgres') =>
    windows.flatMap((window, at) => {
      return given.map(([text, cast], call) => {
        const end = dialect === 'postgres' ? cast : '';
        return `${text} OVER (${window[dialect]})${end} AS x${at}_${call}`;
      });
    });
  const kinds: readonly Kind[] = ['i64', ...windows.flatMap(() => given.map(([, , kind]) => kind))];
  return await disagreement(postgres, {
    name: '',
    tables,
    ours: `SELECT id, ${list('ours').join(', ')} FROM w`,
    postgres: `SELECT id, ${list('postgres').join(', ')} FROM w`,
    kinds,
  });
}

function textOf(parts: readonly (string | Distance)[], dialect: 'ours' | 'postgres'): string {
  return parts.map((part) => (typeof part === 'string' ? part : part[dialect])).join('');
}

describe('frames that measure distances', () => {
  it.each(Object.keys(keys) as Kind[])(
    '[ease 3.4] over %s, with what EXCLUDE leaves out',
    async (kind) => {
      const rows = (keys[kind] ?? []).map((key, id): readonly Plain[] => [BigInt(id), key]);
      const tables = { [`w(id i64, k ${kind}?) [unique:btree:id]`]: rows };
      for (const direction of directions) {
        for (const exclusion of exclusions) {
          const windows = framesOf(kind).map((frame) => {
            const window = ['ORDER BY k', direction, ' ', ...frame, exclusion];
            return { ours: textOf(window, 'ours'), postgres: textOf(window, 'postgres') };
          });
          const found = await differs(tables, windows, calls);
          expect(found, `${direction}${exclusion}`).toBeUndefined();
        }
      }
    },
    120_000,
  );
});

describe('frames of rows and groups', () => {
  const rows = [3n, 1n, 1n, 2n, null, 2n, 2n, 9n, null, 4n, 1n, 3n];
  const tables = {
    'w(id i64, k i64?, p bool, s string) [unique:btree:id]': rows.map((k, at): readonly Plain[] => [
      BigInt(at),
      k,
      at % 3 === 0,
      `s${(at * 7) % 5}`,
    ]),
  };
  const frames = [
    'ROWS 1 PRECEDING',
    'ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING',
    'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
    'ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING',
    'ROWS BETWEEN 0 PRECEDING AND 2 PRECEDING',
    'ROWS BETWEEN 2 FOLLOWING AND 0 FOLLOWING',
    'GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW',
    'GROUPS BETWEEN 1 FOLLOWING AND 1 FOLLOWING',
  ];
  const all: typeof calls = [
    ...calls,
    ['first_value(id)', '', 'i64'],
    ['last_value(id)', '', 'i64'],
    ['nth_value(id, 2)', '', 'i64'],
    ['min(s)', '', 'string'],
    ['bool_or(p)', '', 'bool'],
  ];
  it.each(exclusions)(
    '[ease 3.4] with "%s"',
    async (exclusion) => {
      for (const order of ['k, id', 'k DESC, id', 'p, s, id']) {
        for (const partition of ['', 'PARTITION BY p ']) {
          const windows = frames.map((frame) => {
            const text = `${partition}ORDER BY ${order} ${frame}${exclusion}`;
            return { ours: text, postgres: text };
          });

          expect(await differs(tables, windows, all), exclusion).toBeUndefined();
        }
      }
    },
    120_000,
  );
});
