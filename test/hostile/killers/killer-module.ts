/**
 * A compiled form that ends a process or runs past every limit. It is program text that is built
 * and published, not text that becomes code at run time: there, look-ups of names are calls, which
 * V8 can interrupt.
 */
export interface Killer {
  readonly name: string;
  /** TypeScript source of one module; several reducers may share it. */
  readonly module: string;
  readonly reducer: string;
  readonly args?: readonly unknown[];
}

/** What a killer does: the statements of a reducer's body. They leave what they made in `kept`. */
export type Form = readonly [name: string, body: string];

/** Reducers of one module, one for each form; and `write`, for the rows that stay. */
export function killersOf(forms: readonly Form[], prelude = ''): readonly Killer[] {
  const reducers = forms.map(
    ([, body], index) => `export const ${reducerName(index)} = db.reducer((ctx) => {
  ctx.db.note.insert({ id: 0, text: 'never to be seen' });
  ${body}
});`,
  );
  const module = [moduleHead, prelude, ...reducers].join('\n');
  return forms.map(([name], index) => ({ name, module, reducer: reducerName(index) }));
}

/** Letters alone: a name with digits would be told apart into words. */
function reducerName(index: number): string {
  const digits = index.toString(26);
  return `k${digits.replace(/\d/g, (digit) => String.fromCharCode(113 + Number(digit)))}`;
}

const moduleHead = `import { schema, t, table } from 'reducerdb/server';
const note = table(
  { name: 'note', public: true },
  { id: t.u32().primaryKey().autoInc(), text: t.string() },
);
const db = schema({ note });
export default db;
export const write = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.note.insert({ id: 0, text });
});
// What is kept cannot be collected, nor left out by a compiler.
let kept: unknown;
`;

/** `text` with each `@` replaced by a running number, `count` times, with `separator` between. */
export function times(count: number, text: string, separator = ','): string {
  const parts = Array.from({ length: count }, (_, index) => text.replaceAll('@', String(index)));
  return parts.join(separator);
}
