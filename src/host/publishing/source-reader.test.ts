import { describe, expect, it } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { SourceReader } from './source-reader.ts';

const text = `import { schema } from 'reducerdb/server';
const db = schema({});
export default db;
export const touch = db.reducer({}, () => {});
`;

/** A program whose groups contain each other, so that its functions cannot be counted. */
function endless(): Uint8Array {
  const members = Array.from({ length: 60 }, (_, at) => `  m${at}: g`).join(',\n');
  const code = `var g = x.exportGroup({\n${members}\n});\nexport {\n  g,\n  g as default\n};\n`;
  const mappings = code.split('\n').fill('AAAA').join(';');
  const map = { version: 3, sources: ['index.ts'], sourcesContent: ['own'], mappings };
  const url = Buffer.from(JSON.stringify(map)).toString('base64');
  return Buffer.from(`${code}//# sourceMappingURL=data:application/json;base64,${url}\n`);
}

describe('reading the sources of a program', () => {
  it('[ease 4.9] is done beside the caller', async () => {
    const { bytes } = await buildText(text);
    const { length } = bytes;
    const read = await new SourceReader().read(bytes);
    expect(read.files).toEqual([{ name: 'src/index.ts', text }]);
    expect(read.functions).toMatchObject([{ name: 'touch', first: 4, last: 4 }]);
    expect(bytes.length).toBe(length);
  });

  it('[ease 4.9] ends in time, with the text of the program', async () => {
    const reader = new SourceReader({ millisMax: 1_500 });
    const read = await reader.read(endless());
    expect(read).toMatchObject({ kind: 'bundle', functions: [] });
    expect(read.files[0]?.text).toContain('exportGroup');
    const { bytes } = await buildText(text);
    expect((await new SourceReader().read(bytes)).kind).toBe('sources');
  });

  it('[ease 4.9] is refused when too many wait', async () => {
    const reader = new SourceReader({ waitingMax: 2 });
    const { bytes } = await buildText(text);
    const reads = [1, 2, 3].map(() => reader.read(bytes));
    await expect(reads[2]).rejects.toMatchObject({ body: { code: 'database.overloaded' } });
    await Promise.all(reads.slice(0, 2));
    expect((await reader.read(bytes)).kind).toBe('sources');
  });
});
