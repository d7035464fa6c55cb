import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { offsetMicros } from '../../src/sql/functions/time-zone.ts';
import type { Value } from '../../src/values/value.ts';
import type { Kind, Plain } from './differential/kinds.ts';
import { Postgres } from './differential/postgres.ts';
import { disagreement } from './differential/regressions.ts';
import { QueryLab } from './query-lab.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
}, 90_000);
afterAll(() => postgres.close());

const zones = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'],
  ...['Pacific/Apia', 'America/Sao_Paulo', 'Asia/Tokyo'],
];

/** Around changes of the clock, at the ends of years and weeks, before 1970. */
const moments = [
  ...['2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z', '2026-10-25T00:30:00.5Z'],
  ...['2026-10-25T01:30:00Z', '2026-11-01T05:59:59.999999Z', '2026-11-01T06:30:00Z'],
  ...['2024-02-29T23:59:59Z', '2025-12-31T23:30:00Z', '2026-01-01T00:00:00Z'],
  ...['2018-11-04T02:59:00Z', '2018-11-04T03:30:00Z', '2011-12-30T12:00:00Z'],
  ...['1969-12-31T18:00:00.000001Z', '1955-07-04T12:34:56.789012Z', '2026-04-04T15:15:00Z'],
];
const rows = moments.map((text, id): readonly Plain[] => [
  BigInt(id),
  BigInt(Date.parse(text)) * 1000n,
]);
const tables = { 'm(id i64, at timestamp) [unique:btree:id]': rows };

async function agrees(kind: Kind, ours: string, theirs: string): Promise<void> {
  const given = {
    name: '',
    tables,
    ours: `SELECT id, ${ours} AS x FROM m`,
    postgres: `SELECT id, ${theirs} FROM m`,
    kinds: ['i64', kind] as const,
  };
  expect(await disagreement(postgres, given), ours).toBeUndefined();
}

describe('times in zones', () => {
  const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year', 'decade'];
  it.each(zones)(
    '[ease 3.4] date_trunc in %s',
    async (zone) => {
      for (const unit of units) {
        const call = `date_trunc('${unit}', at, '${zone}')`;
        await agrees('timestamp', call, call);
      }
    },
    60_000,
  );

  const fields = ['hour', 'minute', 'day', 'dow', 'isodow', 'doy', 'week', 'isoyear', 'month'];
  it.each(zones)(
    '[ease 3.4] date_part in %s',
    async (zone) => {
      for (const field of fields) {
        const theirs = `date_part('${field}', at AT TIME ZONE '${zone}')`;
        await agrees('f64', `date_part('${field}', at, '${zone}')`, theirs);
      }
      await agrees('f64', `date_part('epoch', at, '${zone}')`, "date_part('epoch', at)");
    },
    60_000,
  );
});

describe('to_char', () => {
  const patterns = [
    'YYYY-MM-DD HH24:MI:SS',
    'YYYY-MM-DD"T"HH24:MI:SS.US',
    'DD.MM.YY HH12:MI am',
    'FMDD. FMMonth YYYY',
    '[Month] [MONTH] [month] [Mon] [MON] [mon]',
    '[Day] [DAY] [day] [Dy] [DY] [dy] [FMDay]',
    'IYYY-"W"IW-ID',
    'DDD D Q W WW FMDDD',
    'HH AM HH24 PM FMHH24 FMMI',
    'MS US',
    '"quoted \\"DD\\"" DD',
    'on the DDth, MMTH, the "day"',
    'yyyy-mm-dd hh24:mi:ss.us iyyy iw ddd',
    'hh12:mi pm q',
    'DDDth, hour FMHH24th',
  ];
  it.each(patterns)(
    '[ease 3.4] of %s',
    async (pattern) => {
      await agrees('string', `to_char(at, '${pattern}')`, `to_char(at, '${pattern}')`);
      const theirs = `to_char(at AT TIME ZONE 'America/New_York', '${pattern}')`;
      await agrees('string', `to_char(at, '${pattern}', 'America/New_York')`, theirs);
    },
    60_000,
  );
});

describe('what is ours', () => {
  const lab = new QueryLab([{ name: 't', columns: { id: { kind: 'u32' } } }]);
  lab.insert('t', [[1]]);
  const one = (expression: string) =>
    (lab.rows(`SELECT ${expression} AS x FROM t`) as Value[][])[0]?.[0];
  const at = "TIMESTAMP '2026-07-01T12:00:00Z'";

  it('[ease 3.4] OF is how far the local time is from UTC', () => {
    expect(one(`to_char(${at}, 'OF')`)).toBe('+00');
    expect(one(`to_char(${at}, 'HH24 OF', 'Asia/Kathmandu')`)).toBe('17 +05:45');
    expect(one(`to_char(${at}, 'OF', 'America/St_Johns')`)).toBe('-02:30');
  });

  it('[ease 3.4] refuses zones that there are not, and what it does not know', () => {
    expect(() => one(`date_trunc('day', ${at}, 'Berlin')`)).toThrow(
      "'Berlin' is not a time zone; write one as 'Europe/Berlin'",
    );
    expect(() => one(`to_char(${at}, 'TZ')`)).toThrow("to_char has no 'TZ'");
    expect(() => one(`to_char(${at}, 'FMY')`)).toThrow(
      "to_char has no 'FMY'; put other text in double quotes",
    );
  });

  it('[ease 3.4] keeps few zones and offsets, and finds them again', () => {
    const offsets = () => {
      return Array.from({ length: 2 * limits.sqlZoneOffsetsMax }, (_, quarter) => {
        return offsetMicros('Europe/Berlin', BigInt(quarter) * 86_400_000_000n);
      });
    };
    expect(offsets()).toEqual(offsets());
  });
});
