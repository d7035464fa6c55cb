import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeRoutes, type RoutesOptions } from '../../src/http/routes.ts';
import { ask } from './mcp-support.ts';
import { send, specialLabels } from './rights-matrix/requests.ts';
import { look } from './rights-matrix/resources.ts';
import { Line } from './rights-matrix/sockets.ts';
import { Stage } from './rights-matrix/stage.ts';
import { type CallerName, callers, type MatrixRow, matrixOf } from './rights-matrix/table.ts';
import { withoutHint, wordFor, wordForResult } from './rights-matrix/words.ts';
import type { Person } from './running.ts';

/** Every cell of the tables in `docs/guide/rights.md`, against a service. */

let stage: Stage;
let cellCount = 0;
const lines: Line[] = [];

beforeAll(async () => {
  stage = await Stage.make();
}, 300_000);
afterAll(async () => {
  for (const line of lines) await line.close();
  await stage.running.stop();
});

/** Compares each cell of a row with what `ask` finds. */
async function compare(
  { expected }: MatrixRow,
  ask: (caller: CallerName) => Promise<string>,
  wanted: (cell: string, caller: CallerName) => string = (cell) => cell,
): Promise<void> {
  const found: Record<string, string> = {};
  const said: Record<string, string> = {};
  for (const caller of callers) {
    cellCount += 1;
    said[caller] = wanted(expected[caller], caller);
    found[caller] = await ask(caller);
  }
  expect(found).toEqual(said);
}

const requests = matrixOf('request');
/** After these, the tokens of all callers are worth nothing. */
const isLast = ({ label }: MatrixRow) => label.startsWith('POST /v1/identity/revoke');

describe('[http 14, rulings 6.6] the requests', () => {
  it('are those that the service has', () => {
    // Paths and methods do not depend on anything else; nothing is run.
    const routes = makeRoutes({
      metricsFor: 'anyone',
      mcpRules: { login: {} },
    } as unknown as RoutesOptions);
    const served = routes.flatMap(({ path, methods, everyMethod }) => {
      const verbs = everyMethod === undefined ? Object.keys(methods) : ['ANY'];
      return verbs.map((verb) => `${verb} ${path}`);
    });
    const told = requests.map(({ code }) => code);
    expect([...new Set(told)].sort()).toEqual([...new Set(served)].sort());
    const labels = requests.map(({ label }) => label);
    expect(specialLabels.filter((label) => !labels.includes(label))).toEqual([]);
  });

  it.each(requests.filter((row) => !isLast(row)))('$label', (row) => compareRequest(row), 180_000);
});

function compareRequest(row: MatrixRow): Promise<void> {
  const [yes = '', refusal = ''] = row.more;
  // Some get another text: an admin where it is the role that matters.
  const [no = '', ...others] = refusal.split(/; an? (?=\w+: )/);
  const noTo = new Map(others.map((one) => one.split(': ', 2) as [CallerName, string]));
  const ask = async (caller: CallerName) => {
    const as = stage.hall.callers[caller];
    const isAllowed = row.expected[caller] === 'yes';
    const { status, text, headers } = await send(row, { stage, caller, as, isAllowed });
    if (status < 400) return String(status);
    return `${status} ${told(text, as?.identity ?? headers.get('spacetime-identity') ?? '')}`.trim();
  };
  return compare(row, ask, (cell, caller) => {
    if (cell === 'yes') return yes;
    const text = noTo.get(caller) ?? no;
    return cell === 'no' ? text.replace('… ', unauthorized) : `${cell} Authorization required`;
  });
}

const unauthorized = '‹caller› is not authorized to perform action on database ‹database›: ';

/** A text in which the guide can tell who and what is meant; cells are read without backticks. */
function told(text: string, caller: string): string {
  const named = withoutHint(text).replaceAll(stage.hall.database, '‹database›').replaceAll('`', '');
  return caller === '' ? named : named.replaceAll(caller, '‹caller›');
}

describe.each(['HTTP', 'MCP'] as const)('[auth 7] a statement over %s', (door) => {
  const database = () => stage.library.database;
  const run = async (statement: string, as: Person | undefined): Promise<string> => {
    if (door === 'HTTP') {
      const { status, text } = await stage.running.sql(database(), statement, as);
      return status === 200 ? wordForResult(text) : wordFor(status === 400 ? text : `${status}`);
    }
    const mode = { name: '', path: `/v1/database/${database()}/mcp`, database: {} };
    const { content } = await ask(stage.running, { mode, as }, 'sql', { sql: statement });
    const [text = '', more = ''] = content.map((one) => one.text);
    // The row limit of a token cuts pages there.
    if (more.startsWith('Rows 1 to ')) return 'too many';
    return text.startsWith('[') ? wordForResult(text) : wordFor(text);
  };
  const asOwner = (statement: string) => stage.running.rows(database(), statement, stage.owner);

  it.each(matrixOf('statement'))('$label', async (row) => {
    const isLimited = row.label.includes('with row_limit 1');
    if (isLimited) await asOwner('SET row_limit = 1');
    await compare(row, async (caller) => {
      const word = await run(row.code, stage.library.callers[caller]);
      if (row.code.startsWith('INSERT')) {
        for (const table of ['note', 'secret']) await asOwner(`DELETE FROM ${table} WHERE id > 7`);
      }
      if (row.code.startsWith('SET')) await asOwner(forget);
      return word;
    });
    if (isLimited) await asOwner(forget);
  });
});

const forget = "DELETE FROM st_var WHERE name = 'row_limit'";

describe('[mcp] the tools', () => {
  it.each(matrixOf('tool'))('$label', (row) => {
    return compare(row, (caller) => tool(row.label, stage.library.callers[caller]));
  });
});

describe('[mcp B7] what there is to read', () => {
  it.each(matrixOf('resource'))('$label', (row) => {
    return compare(row, (caller) => look(row, stage, stage.library.callers[caller]));
  });
});

async function tool(label: string, as: Person | undefined): Promise<string> {
  const { running, library, elsewhere } = stage;
  const ask = (name: string, args: object) => running.tool(library.database, name, args, as);
  const shows = async (list: 'tables' | 'reducers' | 'procedures', name: string) => {
    const schema = JSON.parse(await ask('get_schema', {}));
    const all: { name: string }[] = schema[list] ?? [];
    return all.some((one) => one.name === name) ? 'yes' : 'no';
  };
  const call = async (reducer: string, ...args: number[]) =>
    wordFor(await ask('call', { reducer, args }));
  const host = (name: string, args: object) => running.toolAt('/v1/mcp', name, args, as);
  const sql = 'SELECT * FROM note';
  const [, features] = /features=([\w-]+)$/.exec(label) ?? [];
  const more = (name: string, args: object) => {
    const where = `/v1/database/${library.database}/mcp?features=${features}`;
    return running.toolAt(where, name, args, as);
  };
  const preview = async (reducer: string, ...args: number[]) =>
    wordFor(await more('preview_call', { reducer, args }));
  const write = { sql: 'DELETE FROM note WHERE id > 7' };
  switch (label) {
    case 'ping':
      return wordFor(await ask('ping', {}));
    case 'get_schema shows secret':
      return shows('tables', 'secret');
    case 'get_schema shows the indexes of secret': {
      const { tables } = JSON.parse(await ask('get_schema', {}));
      const found = tables.find(({ name }: { name: string }) => name === 'secret');
      return found?.primary_key === undefined ? 'no' : 'yes';
    }
    case 'get_schema shows the private reducer':
      return shows('reducers', 'tidy');
    case 'get_schema shows the private procedure':
      return shows('procedures', 'sweep');
    case 'call a reducer':
      return call('put_note', 1);
    case 'call a procedure':
      return call('count_notes');
    case 'call a private procedure':
      return call('sweep');
    case 'call a private reducer':
      return call('tidy');
    case 'call a lifecycle reducer':
      return call('begin');
    case 'sql, as below':
      return wordForResult(await ask('sql', { sql }));
    case 'sql elsewhere': {
      const text = await host('sql', { database: elsewhere, sql });
      return text.startsWith('[') ? 'yes' : wordFor(text);
    }
    case 'preview_call of a reducer, features=preview':
      return preview('put_note', 1);
    case 'preview_call of a private reducer, features=preview':
      return preview('tidy');
    case 'preview_call of a procedure, features=preview':
      return preview('count_notes');
    case 'preview_sql of DELETE FROM note WHERE id > 7, features=preview':
      return wordFor(await more('preview_sql', write));
    case 'preview_publish of the running program, features=preview': {
      const program = new TextDecoder().decode(stage.program);
      return wordFor(await more('preview_publish', { program }));
    }
    case 'logs, features=logs':
      return wordFor(await more('logs', {}));
    case 'list_activity, features=ledger':
      return wordFor(await more('list_activity', {}));
    case 'read_source, features=source':
      return wordFor(await more('read_source', {}));
    case 'wait_for_change of SELECT * FROM secret, features=watch': {
      const text = await more('wait_for_change', { sql: 'SELECT * FROM secret', timeout: 1 });
      return text.includes('"added":') ? 'yes' : wordFor(text);
    }
    case 'the tool of a reducer, features=typed-reducers':
      return wordFor(await more('put_note', { id: 1 }));
    case 'the tool of a private reducer, features=typed-reducers':
      return wordFor(await more('tidy', {}));
    case 'the tool of a procedure, features=typed-reducers':
      return wordFor(await more('count_notes', {}));
    case 'the tool of a private procedure, features=typed-reducers':
      return wordFor(await more('sweep', {}));
    case 'call a reducer, features=read-only':
      return wordFor(await more('call', { reducer: 'put_note', args: [1] }));
    case 'sql of DELETE FROM note WHERE id > 7, features=read-only':
      return wordFor(await more('sql', write));
    case 'list_databases shows this one':
      return (await host('list_databases', {})).includes(library.database) ? 'yes' : 'no';
    default:
      throw new Error(`nobody knows how to do \`${label}\``);
  }
}

describe.each(['v2', 'v3'] as const)('[websocket] over a connection of version %s', (version) => {
  const open = (database: string, caller: CallerName) => {
    const { url } = stage.running.service;
    return Line.open({ url, database, version }, stage.library.callers[caller]);
  };
  const opened = new Map<CallerName, Line>();

  it.each(matrixOf('action'))('$label', async (row) => {
    await compare(row, async (caller) => {
      if (row.label.startsWith('connect')) return connect(row.label, caller);
      const line = opened.get(caller) ?? (await open(stage.library.database, caller));
      if (!opened.has(caller)) lines.push(line);
      opened.set(caller, line);
      return line.act(row);
    });
  });

  async function connect(label: string, caller: CallerName): Promise<string> {
    const database = label === 'connect' ? stage.library.database : stage.elsewhere;
    try {
      await (await open(database, caller)).close();
      return 'yes';
    } catch (error) {
      const { message } = error as Error;
      return message === 'Unexpected server response: 403' ? 'refused' : message;
    }
  }
});

describe('[http 14] at last', () => {
  it.each(requests.filter(isLast))('$label', (row) => compareRequest(row));

  it('every cell has been compared', () => {
    console.log(`rights matrix: ${cellCount} cells`);
    const [sql, tools, actions] = [matrixOf('statement'), matrixOf('tool'), matrixOf('action')];
    const once = [requests, tools, matrixOf('resource')];
    const rowCount = once.flat().length + 2 * sql.length + 2 * actions.length;
    expect(cellCount).toBe(rowCount * callers.length);
  });
});
