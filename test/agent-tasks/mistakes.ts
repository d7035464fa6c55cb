import type { ToolCall, ToolReply } from './agent-session.ts';

/** A call as agents get it wrong, and what they make of the answer. */
export interface Mistake {
  readonly title: string;
  readonly wrong: ToolCall;
  /** A server for the whole host. */
  readonly isHostWide?: boolean;
  /** The word that a nearest name stands for, if the hint gives one. */
  readonly word?: string;
  /** Applies a hint of another kind. */
  readonly apply?: (reply: ToolReply, wrong: ToolCall) => ToolCall;
}

/** The call that the answer to a mistake says to make. */
export function corrected({ wrong, word, apply }: Mistake, reply: ToolReply): ToolCall {
  if (apply !== undefined) return apply(reply, wrong);
  const hint = reply.texts.join('\n');
  const [, tool, args] = /^call (\w+) with (\{.*\})$/m.exec(hint) ?? [];
  if (tool !== undefined && args !== undefined) return { tool, args: JSON.parse(args) };
  const [, near] = /Did you mean `(.*?)`\?/.exec(hint) ?? [];
  if (word === undefined || near === undefined) throw new Error(`no hint: ${hint}`);
  const text = JSON.stringify(wrong.args);
  return { tool: wrong.tool, args: JSON.parse(text.replaceAll(word, near)) };
}

const sql = (statement: string): ToolCall => ({ tool: 'sql', args: { sql: statement } });
const call = (reducer: string, args: unknown): ToolCall => {
  return { tool: 'call', args: { reducer, args } };
};

/** Leaves out what the answer says to leave out. */
const without = (name: string): Pick<Mistake, 'apply'> => ({
  apply: ({ texts }, { tool, args }) => {
    if (!texts.join('\n').includes(name)) throw new Error(`not told of ${name}: ${texts}`);
    const rest = Object.entries(args).filter(([key]) => key !== name);
    return { tool, args: Object.fromEntries(rest) };
  },
});

/** Gives the values of the call under the names of the parameters that the hint shows. */
const byParameters = (...values: readonly unknown[]): Pick<Mistake, 'apply'> => ({
  apply: ({ texts }) => {
    const [, reducer = '', params = ''] = /^(\w+)\((.*)\)$/m.exec(texts[1] ?? '') ?? [];
    const names = [...params.matchAll(/(?:^|, )(\w+): /g)].map(([, name]) => name ?? '');
    return call(reducer, Object.fromEntries(names.map((name, at) => [name, values[at]])));
  },
});

/** Takes a tool that the hint lists. */
const toolOf = (name: string): Pick<Mistake, 'apply'> => ({
  apply: ({ texts }, { args }) => {
    if (!new RegExp(`there are .*\\b${name}\\b`).test(texts.join('\n')))
      throw new Error(`${texts}`);
    return { tool: name, args };
  },
});

export const mistakes: readonly Mistake[] = [
  { title: 'sql as `query`', wrong: { tool: 'sql', args: { query: 'SELECT id FROM purchase' } } },
  {
    title: 'sql as `statement`',
    wrong: { tool: 'sql', args: { statement: 'SELECT id FROM purchase' } },
  },
  { title: 'no database, host-wide', wrong: { tool: 'get_schema', args: {} }, isHostWide: true },
  {
    title: 'the database as `db`',
    wrong: { tool: 'sql', args: { db: 'orders', sql: 'SELECT id FROM purchase' } },
    isHostWide: true,
  },
  {
    title: 'a database that is a number',
    wrong: { tool: 'get_schema', args: { database: 1 } },
    isHostWide: true,
  },
  { title: 'arguments as their JSON text', wrong: call('set_stock', '["P1", 5]') },
  { title: 'one argument without a list', wrong: call('print_label', 20) },
  {
    title: 'the reducer as `name`',
    wrong: { tool: 'call', args: { name: 'print_label', args: [20] } },
  },
  {
    title: 'the reducer as `function`',
    wrong: { tool: 'call', args: { function: 'print_label', args: [20] } },
  },
  { title: 'a misspelled table', wrong: sql('SELECT id FROM purchas'), word: 'purchas' },
  { title: 'a table in the plural', wrong: sql('SELECT sku FROM products'), word: 'products' },
  { title: 'a misspelled column', wrong: sql('SELECT statsu FROM purchase'), word: 'statsu' },
  {
    title: 'a misspelled column behind an alias',
    wrong: sql('SELECT p.nmae FROM customer AS p'),
    word: 'nmae',
  },
  {
    title: 'a misspelled column of a condition',
    wrong: sql("SELECT id FROM customer WHERE emial = 'x'"),
    word: 'emial',
  },
  { title: 'a misspelled reducer', wrong: call('set_stok', ['P1', 6]), word: 'set_stok' },
  { title: 'an argument too few', wrong: call('set_stock', ['P1']), ...byParameters('P1', 7) },
  {
    title: 'an argument under another name',
    wrong: call('set_stock', { product: 'P1', stock: 8 }),
    ...byParameters('P1', 8),
  },
  {
    title: 'a variant that does not exist',
    wrong: call('set_status', [22, 'delivered']),
    apply: ({ texts }) => {
      const [, variant = ''] = /one of .*"(shipped)"/.exec(texts.join('\n')) ?? [];
      return call('set_status', [22, variant]);
    },
  },
  {
    title: 'another database than that of the server',
    wrong: { tool: 'sql', args: { database: 'chat', sql: 'SELECT id FROM purchase' } },
    ...without('database'),
  },
  {
    title: 'the tool `query`',
    wrong: { tool: 'query', args: { sql: 'SELECT id FROM purchase' } },
    ...toolOf('sql'),
  },
  {
    title: 'the tool `list_tables`',
    wrong: { tool: 'list_tables', args: {} },
    ...toolOf('get_schema'),
  },
  {
    title: 'a cursor of something else',
    wrong: { tool: 'sql', args: { sql: 'SELECT id FROM purchase', cursor: 'x.1' } },
    ...without('cursor'),
  },
  {
    title: 'more rows than there may be',
    wrong: { tool: 'sql', args: { sql: 'SELECT id FROM purchase', max_rows: 100_000 } },
    apply: ({ texts }, { tool, args }) => {
      const [, most] = /from 1 to (\d+)/.exec(texts.join('\n')) ?? [];
      return { tool, args: { ...args, max_rows: Number(most) } };
    },
  },
  {
    title: 'the schema of a misspelled table',
    wrong: { tool: 'get_schema', args: { table: 'custmer' } },
    word: 'custmer',
  },
];
