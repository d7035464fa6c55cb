import { expect, it } from 'vitest';
import { definitionFromSchema } from '../../src/codegen/schema-document.ts';
import { schemaJsonV10 } from '../../src/schema/schema-json-v10.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { moduleOf, u32 } from '../schema/module-builder.ts';

it('[ease 3.12] bindings are made from a schema with vectors and their indexes', () => {
  const floats = { kind: 'array', element: { kind: 'f32' } } as const;
  const options = [
    { name: 'length', value: '3' },
    { name: 'metric', value: 'l2' },
  ];
  const raw = moduleOf([{ name: 'allTexts', columns: { id: u32, meaning: floats } }], {
    vectors: [{ tableName: 'allTexts', column: 1, length: 3 }],
    derivedIndexes: [{ tableName: 'allTexts', column: 1, kind: 'vector', options }],
  });
  const [table] = definitionFromSchema(String(schemaJsonV10(validateModule(raw)))).tables;
  expect(table?.columns[1]).toMatchObject({ name: 'meaning', vectorLength: 3 });
  expect(table?.derivedIndexes).toHaveLength(1);
});
