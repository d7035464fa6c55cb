import { limits } from '../../src/limits.ts';

const repeated = (piece: string, bytes: number) => piece.repeat(Math.floor(bytes / piece.length));
const numbered = (count: number, piece: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => piece(index)).join('');
const quotedName = (index: number) => `"importExpression${index}",`;
const withMap = (map: object) =>
  'export default {};\n//# sourceMappingURL=data:application/json;base64,' +
  Buffer.from(JSON.stringify(map)).toString('base64');

/** Texts that are hard on the bundler; each is refused, in words, whatever they are. */
export const bombs: Readonly<Record<string, () => string>> = {
  '800 KB of (': () => repeated('(', 800_000),
  '2 MB of importExpressionN': () => `export default [${numbered(90_000, quotedName)}]`,
  'a list in a list': () => repeated('[', 1_000_000),
  'a block in a block': () => repeated('{', 1_000_000),
  'a template in a template': () => repeated('`$' + '{', 1_000_000),
  'not not': () => `export default ${repeated('!', 900_000)}1`,
  'a chain of ?:': () => `export default ${repeated('a?b:', 900_000)}1`,
  'a chain of =>': () => `export default ${repeated('a=>', 900_000)}1`,
  'a chain of else if': () => `if(a);${repeated('else if(a);', 900_000)}`,
  'a chain of members': () => `export default a${repeated('.a', 900_000)}`,
  'a chain of +': () => `export default 1${repeated('+a', 900_000)}`,
  'a million functions': () => numbered(1_000_000, (n) => `function f${n}(){}\n`),
  'a million numbers': () => `export default [${repeated('1e9,', 4_000_000)}]`,
  'a long name': () => `export const ${repeated('x', 8_000_000)} = 1;`,
  'a long template': () => `export default \`${repeated('x', 8_000_000)}\`;`,
  'a source map with a long name': () =>
    withMap({ version: 3, sources: [repeated('x', 20_000_000)], names: [], mappings: 'AAAA' }),
  'a source map of empty lines': () =>
    withMap({ version: 3, sources: ['a'], names: [], mappings: repeated(';', 20_000_000) }),
};

const most = limits.programNestingMax;

/** Deep, but not too deep to be linked: the engine that compiles it must survive, too. */
export const deep: Readonly<Record<string, string>> = {
  brackets: `export default ${'('.repeat(most)}1${')'.repeat(most)}`,
  lists: `export default ${'['.repeat(most)}${']'.repeat(most)}`,
  blocks: `${'{'.repeat(most)}${'}'.repeat(most)}`,
  '?:': `export default ${'a?b:'.repeat(2_000)}1`,
  '!': `export default ${'!'.repeat(2_000)}1`,
  '=>': `export default ${'a=>'.repeat(2_000)}1`,
  'else if': `if(a);${'else if(a);'.repeat(2_000)}`,
  '+': `export default 1${'+a'.repeat(2_000)}`,
  members: `export default a${'.a'.repeat(2_000)}`,
  calls: `export default a${'()'.repeat(2_000)}`,
};
