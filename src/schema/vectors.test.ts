import { describe, expect, it } from 'vitest';
import { moduleOf, problemsOf, u32 } from '../../test/schema/module-builder.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { optionType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { catalogOf } from './build-catalog.ts';
import { decodeCatalog, encodeCatalog } from './catalog-codec.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import { declareWords, planMigration } from './migration-plan.ts';
import type { RawVector } from './raw-module.ts';
import { schemaJsonV10 } from './schema-json-v10.ts';
import { validateModule } from './validate.ts';

const floats: AlgebraicType = { kind: 'array', element: { kind: 'f32' } };
const spot: RawVector = { tableName: 'allTexts', column: 1, length: 3 };

function moduleWith(vectors: readonly RawVector[], at: AlgebraicType = floats) {
  const table = { name: 'allTexts', columns: { id: u32, meaning: at } };
  return moduleOf([table], { vectors });
}

describe('[ease 3.12] the vectors of a module', () => {
  it('follow its sections', () => {
    const raw = moduleWith([spot]);
    const bytes = encodeRawModuleV10(raw);
    expect(decodeRawModule(bytes)).toEqual(raw);
    const extension = `52444258 01  07 16000000 01000000 08000000 616c6c5465787473 0100 03000000`;
    expect(Buffer.from(bytes.subarray(-32)).toString('hex')).toBe(extension.replace(/\s/g, ''));
  });

  it('are columns with a length', () => {
    const [table] = validateModule(moduleWith([spot])).tables;
    expect(table?.columns.map(({ vectorLength }) => vectorLength)).toEqual([undefined, 3]);
    expect(problemsOf(moduleWith([spot], optionType(floats)))).toEqual([]);
  });

  it.each<[string, Partial<RawVector>, string]>([
    ['another table', { tableName: 'none' }, 'Table none not found'],
    ['another column', { column: 2 }, 'vector in table `all_texts`: there is no column `2`'],
    ['another type', { column: 0 }, 'column `id` is an array of F32, not `U32`'],
    ['no length', { length: 0 }, 'column `meaning` has 1 to 8192 elements, not 0'],
    ['a large length', { length: 8_193 }, 'column `meaning` has 1 to 8192 elements, not 8193'],
  ])('are refused with %s', (_, parts, message) => {
    const [problem, ...others] = problemsOf(moduleWith([{ ...spot, ...parts }]));
    expect(problem).toContain(message);
    expect(others).toEqual([]);
  });

  it('are in the catalog behind everything else, and only if there are any', () => {
    const catalog = catalogOf(validateModule(moduleWith([spot])));
    const bytes = encodeCatalog(catalog);
    expect(decodeCatalog(bytes)).toEqual(catalog);
    expect(catalog.tables.at(-1)?.columns[1]).toMatchObject({ name: 'meaning', vectorLength: 3 });
    const bare = encodeCatalog(catalogOf(validateModule(moduleWith([]))));
    expect([bare[0], bytes[0]]).toEqual([2, 3]);
    expect(bytes.subarray(1, bare.length)).toEqual(bare.subarray(1));
    const end = '00000000 01000000 00100000 0100 03000000';
    expect(Buffer.from(bytes.subarray(bare.length)).toString('hex')).toBe(end.replace(/\s/g, ''));
    const wild = Uint8Array.from(bytes);
    wild[bytes.length - 6] = 9;
    expect(() => decodeCatalog(wild)).toThrow(
      new DecodeError('column 9 of table 4096, a vector, does not exist'),
    );
  });

  it('are in the JSON of the schema, and only if there are any', () => {
    const shown = String(schemaJsonV10(validateModule(moduleWith([spot]))));
    expect(shown).toContain('{"Vectors":[{"table_name":"all_texts","col_id":1,"length":3}]}');
    expect(String(schemaJsonV10(validateModule(moduleWith([]))))).not.toContain('Vectors');
  });

  it('keep their length; what had none cannot get one', () => {
    const three = validateModule(moduleWith([spot]));
    const four = validateModule(moduleWith([{ ...spot, length: 4 }]));
    const open = validateModule(moduleWith([]));
    const what = 'Changing the length of vectors in column meaning of table all_texts';
    const how = 'requires a manual migration';
    const call = "m.changeColumn('allTexts', 'meaning', { using: (old) => … })";
    expect(planMigration(three, four)).toEqual({
      kind: 'manual',
      reason: `${what} from 3 to 4 ${how}\n${declareWords} ${call}`,
    });
    expect(planMigration(open, three)).toEqual({
      kind: 'manual',
      reason: `${what} to 3 ${how}\n${declareWords} ${call}`,
    });
    expect(planMigration(three, open)).toMatchObject({ kind: 'automatic' });
    expect(planMigration(three, three)).toMatchObject({ kind: 'automatic', steps: [] });
  });
});

describe('[ease 3.12] an index of vectors', () => {
  const options = (metric: string, length = '3') => [
    { name: 'length', value: length },
    { name: 'metric', value: metric },
  ];
  const indexed = (given: ReturnType<typeof options>, vectors = [spot]) => {
    const index = { tableName: 'allTexts', column: 1, kind: 'vector', options: given } as const;
    return { ...moduleWith(vectors), derivedIndexes: [index] };
  };

  it('travels with the module and in the catalog', () => {
    const raw = indexed(options('cosine'));
    expect(decodeRawModule(encodeRawModuleV10(raw))).toEqual(raw);
    const catalog = catalogOf(validateModule(raw));
    expect(decodeCatalog(encodeCatalog(catalog))).toEqual(catalog);
    const [index] = catalog.tables.at(-1)?.derivedIndexes ?? [];
    expect(index).toMatchObject({ name: 'all_texts_meaning_idx_vector', kind: 'vector' });
  });

  it.each([
    ['another metric', options('manhattan'), [spot], '`manhattan` is not a metric'],
    ['another length', options('l2', '4'), [spot], 'it has another length than the column'],
    ['a plain array', options('l2'), [], 'an index of vectors is of a column `t.vector(length)`'],
    [
      'another option',
      [...options('l2'), { name: 'width', value: '9' }],
      [spot],
      'an index of vectors has no option `width`',
    ],
  ] as const)('is refused with %s', (_, given, vectors, message) => {
    const problems = problemsOf(indexed([...given], [...vectors]));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  it('comes, goes and changes its metric by itself', () => {
    const [bare, l2, cosine] = [
      moduleWith([spot]),
      indexed(options('l2')),
      indexed(options('cosine')),
    ];
    for (const [from, to] of [
      [bare, l2],
      [l2, cosine],
      [cosine, bare],
    ] as const) {
      const plan = planMigration(validateModule(from), validateModule(to));
      expect(plan.kind).toBe('automatic');
    }
  });
});
