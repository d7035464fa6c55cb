import { describe, expect, it } from 'vitest';
import { describeModule, type SchemaParts } from './describe.ts';
import { schema, t, table } from './index.ts';

const hero = table({}, { name: t.string() });

/** Describes a module given as its namespace, as the host would. */
function describeOf(db: object, exports: Readonly<Record<string, unknown>> = {}) {
  const schemaOf = (value: unknown) => value as SchemaParts;
  return describeModule(db as SchemaParts, { default: db, ...exports }, schemaOf).raw;
}

const names = {
  URL: t.string(),
  ON: t.bool(),
  PORT: t.u16(),
  BIG: t.i256().optional(),
  RATE: t.option(t.f32()),
  KEY: t.secret(),
  HOOK: t.secret().optional(),
};

const described = [
  ['URL', 'string', false, false],
  ['ON', 'bool', false, false],
  ['PORT', 'u16', false, false],
  ['BIG', 'i256', false, true],
  ['RATE', 'f32', false, true],
  ['KEY', 'string', true, false],
  ['HOOK', 'string', true, true],
].map(([name, kind, isSecret, isOptional]) => ({ name, type: { kind }, isSecret, isOptional }));

describe('what a module reads', () => {
  it('[living 4.2] is declared with its schema, or by an export', () => {
    expect(describeOf(schema({ hero }, { env: names })).env).toEqual(described);
    const db = schema({ hero });
    expect(describeOf(db, { env: db.env(names) }).env).toEqual(described);
    expect(describeOf(db, { all: db.exportGroup({ env: db.env(names) }) }).env).toEqual(described);
    expect(describeOf(db, {}).env).toEqual([]);
  });

  it('[living 4.2] is declared once', () => {
    const text = 'the env of a module is declared once: by `schema`, or by `db.env`';
    const db = schema({ hero }, { env: { URL: t.string() } });
    expect(() => describeOf(db, { env: db.env({ PORT: t.u16() }) })).toThrow(text);
    const other = schema({ hero });
    const two = { one: other.env({ URL: t.string() }), two: other.env({ PORT: t.u16() }) };
    expect(() => describeOf(other, two)).toThrow(text);
  });

  it('[living 4.2] has types of texts, and no others', () => {
    const wrong = [
      t.array(t.string()),
      t.timestamp(),
      t.option(t.option(t.string())),
      t.unit(),
      t.option(t.identity()),
      t.string().default('x'),
      'text',
      undefined,
    ];
    for (const type of wrong) {
      const db = schema({ hero }, { env: { WRONG: type } as never });
      expect(() => describeOf(db)).toThrow(
        "env name 'WRONG' must be `t.string()`, `t.bool()`, a number, an option of one of these, " +
          'or `t.secret()`',
      );
    }
  });

  it('[living 4.2] is not declared by a submodule', () => {
    const inner = schema({ hero }, { env: { URL: t.string() } });
    const outer = schema({ inner: { default: inner } });
    const text = 'a submodule declares env, which only the root module can declare';
    expect(() => describeOf(outer)).toThrow(text);
  });
});
