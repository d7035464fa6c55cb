import { describe, expect, it } from 'vitest';
import { schemaFromJson } from '../../src/client/schema-from-json.ts';
import { schemaJson } from '../../src/schema/schema-json.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { describeModule, type SchemaParts } from '../../src/server/describe.ts';
import { schema, t, table } from '../../src/server/index.ts';
import { typeText } from '../../src/values/typespace.ts';

/** A module as its own endpoint describes it, read by the client. */
function readBack(namespace: Record<string, unknown>) {
  const parts = (value: unknown) =>
    typeof value === 'object' && value !== null && 'schemaType' in value
      ? (value as unknown as SchemaParts)
      : undefined;
  const { raw } = describeModule(namespace.default as SchemaParts, namespace, parts);
  return schemaFromJson(JSON.parse(schemaJson(validateModule(raw), 10)));
}

const Kind = t.enum('Kind', { Plain: t.unit(), VeryOdd: t.object('OddPart', { fooBar: t.u8() }) });
const thing = table(
  {
    public: true,
    indexes: [
      { accessor: 'place', algorithm: 'btree', columns: ['posX', 'posY'] },
      { accessor: 'both', algorithm: 'hash', columns: ['id', 'code'] },
    ],
    constraints: [{ constraint: 'unique', columns: ['posY', 'posX'] }],
  },
  {
    id: t.u64().primaryKey().autoInc(),
    code: t.string().unique(),
    posX: t.i32(),
    posY: t.i32(),
    kind: Kind,
    when: t.scheduleAt(),
    maybe: t.result(t.u8(), t.string()).optional(),
  },
);

describe('the schema that a client reads', () => {
  const inner = schema({ nook: table({ public: true }, { a: t.u8() }) });
  const library = {
    default: inner,
    tidyUp: inner.reducer({ howMuch: t.u8() }, () => {}),
  };
  const db = schema({ thing, someEvents: table({ event: true }, { a: t.u8() }), lib: library });
  const known = readBack({
    default: db,
    doIt: db.reducer({ name: 'really_do_it' }, { whichOne: t.u64() }, () => {}),
    start: db.init(() => {}),
    things: db.view({ public: true }, t.array(thing.rowType), (ctx) => ctx.from.thing),
    one: db.view({ public: true }, t.option(t.row('OnlyRow', { theA: t.u8() })), () => undefined),
  });

  it('[client-sdk 12] has tables under the names of the program and of the wire', () => {
    const names = [...known.tables].map(([accessor, { parts }]) => [accessor, parts.name]);
    expect(Object.fromEntries(names)).toEqual({
      thing: 'thing',
      someEvents: 'some_events',
      things: 'things',
      one: 'one',
      'lib.nook': 'lib.nook',
    });
    const { columns, indexes, primaryKey } = known.tables.get('thing')?.parts ?? raise();
    expect(columns.map(({ key, name }) => `${key} ${name}`)).toEqual([
      'id id',
      'code code',
      'posX pos_x',
      'posY pos_y',
      'kind kind',
      'when when',
      'maybe maybe',
    ]);
    expect(primaryKey).toBe(0);
    const unique = indexes.map(({ accessor, isUnique }) => [accessor, isUnique]);
    expect(Object.fromEntries(unique)).toEqual({ id: true, code: true, place: true, both: true });
    expect(known.tables.get('someEvents')?.parts.isEvent).toBe(true);
  });

  it('[client-sdk 12] spells fields and variants as generated code does, special types as they are', () => {
    const { columns, typespace } = known.tables.get('thing')?.parts ?? raise();
    const texts = columns.map(({ key, type }) => `${key}: ${typeText(type, typespace)}`);
    expect(texts.slice(4)).toEqual([
      'kind: (Plain: () | VeryOdd: (fooBar: U8))',
      `when: (Interval: (__time_duration_micros__: I64) | Time: (__timestamp_micros_since_unix_epoch__: I64))`,
      'maybe: (some: (ok: U8 | err: String) | none: ())',
    ]);
  });

  it('[client-sdk 12] takes the key of a view of a query from its table', () => {
    expect(known.tables.get('things')?.parts.primaryKey).toBe(0);
    expect(known.tables.get('one')?.parts.primaryKey).toBeUndefined();
    expect(known.tables.get('one')?.parts.columns.map(({ key }) => key)).toEqual(['theA']);
  });

  it('[client-sdk 12] has what clients may call, and nothing else', () => {
    const names = [...known.reducers].map(([accessor, { parts }]) => [accessor, parts.name]);
    expect(Object.fromEntries(names)).toEqual({
      doIt: 'really_do_it',
      'lib.tidyUp': 'lib.tidy_up',
    });
    const bytes = known.reducers.get('doIt')?.encode({ whichOne: 258n });
    expect(bytes).toEqual(Uint8Array.of(2, 1, 0, 0, 0, 0, 0, 0));
  });
});

function raise(): never {
  throw new Error('not there');
}
