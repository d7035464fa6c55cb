import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer, Person } from '../running.ts';
import type { Stage } from './stage.ts';
import type { CallerName, MatrixRow } from './table.ts';

/** One cell of the table of requests. */
export interface RequestCell {
  readonly stage: Stage;
  readonly caller: CallerName;
  readonly as: Person | undefined;
  /** True when the table says that it is allowed. */
  readonly isAllowed: boolean;
}

/** Sends the request as its row names it, to the hall unless a `database` is given. */
async function ask(
  { stage, as }: RequestCell,
  request: string,
  given: {
    readonly database?: string;
    readonly body?: string | Uint8Array<ArrayBuffer>;
    readonly more?: string;
    readonly type?: string;
  } = {},
): Promise<Answer> {
  const [method = '', where = ''] = request.split(' ');
  const { database = stage.hall.database, body, more = '', type = 'application/json' } = given;
  const path = where.replace(':db', database).replace(':identity', identityOf(as));
  const content = body === undefined ? {} : { body, headers: { 'content-type': type } };
  return withRoom(() => stage.running.ask(method, path + more, { as, ...content }));
}

/** Asks again while the jobs of other cells still run. */
async function withRoom(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 429) return answer;
    await wait(50);
  }
}

/** Of an anonymous caller, any. */
function identityOf(as: Person | undefined): string {
  return as?.identity ?? '07'.repeat(32);
}

type Send = (cell: RequestCell) => Promise<Answer>;

const db = '/v1/database/:db';
const js = '?host_type=Js';
const json = { 'content-type': 'application/json' };
const toolList = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

/** Those that are more than their method and path. */
const special: Readonly<Record<string, Send>> = {
  'POST /v1/console/sessions, with a code of the owner': async (cell) => {
    const as = cell.stage.owner;
    const { text } = await withRoom(() =>
      cell.stage.running.ask('POST', '/v1/console/codes', { as }),
    );
    const body = JSON.stringify({ code: JSON.parse(text).code });
    return ask(cell, 'POST /v1/console/sessions', { body });
  },
  'GET /v1/health, detail': (cell) => ask(cell, 'GET /v1/health', { more: '?detail' }),
  'ANY /, no page': (cell) => ask(cell, 'PATCH /'),
  'GET /v1/databases, detail=true': (cell) => {
    return ask(cell, 'GET /v1/databases', { more: '?detail=true' });
  },
  'POST /v1/energy/:identity': (cell) => {
    return ask(cell, 'POST /v1/energy/:identity', { more: '?amount=1' });
  },
  'POST /v1/database': (cell) => {
    return ask(cell, 'POST /v1/database', { body: cell.stage.program, more: js });
  },
  [`PUT ${db}, a new name`]: (cell) => {
    const database = `new-${cell.caller}`;
    return ask(cell, `PUT ${db}`, { database, body: cell.stage.program, more: js });
  },
  [`PUT ${db}, a new name, template=basic`]: (cell) => {
    const database = `made-${cell.caller}`;
    return ask(cell, `PUT ${db}`, { database, more: '?template=basic' });
  },
  [`PUT ${db}, this database`]: (cell) => {
    return ask(cell, `PUT ${db}`, { body: cell.stage.program, more: js });
  },
  [`PUT ${db}, this database, clear=true`]: (cell) => {
    return ask(cell, `PUT ${db}`, { body: cell.stage.program, more: `${js}&clear=true` });
  },
  [`PUT ${db}, this database, with values`]: (cell) => {
    const head = new TextEncoder().encode('{"env":{"SHOWN":"x"}}\n');
    const body = new Uint8Array([...head, ...cell.stage.program]);
    return ask(cell, `PUT ${db}`, { body, more: js, type: 'application/x-reducerdb-publish' });
  },
  [`GET ${db}/deploys/:number/schema`]: (cell) => {
    return ask(cell, `GET ${db}/deploys/1/schema`, { more: '?version=10' });
  },
  // Nothing changes for the rows after it.
  [`POST ${db}/rollback`]: (cell) => ask(cell, `POST ${db}/rollback`, { more: '?deploy=0' }),
  [`GET ${db}/env/:name`]: async (cell) => {
    const owner = { ...cell, as: cell.stage.owner };
    await ask(owner, `PUT ${db}/env/SHOWN`, { body: '{"value":"x"}' });
    return ask(cell, `GET ${db}/env/SHOWN`);
  },
  [`PUT ${db}/env/:name`]: (cell) => ask(cell, `PUT ${db}/env/SHOWN`, { body: '{"value":"x"}' }),
  [`DELETE ${db}/env/:name`]: async (cell) => {
    const { stage } = cell;
    const name = `GONE_${cell.caller.toUpperCase()}`;
    const owner = { ...cell, as: stage.owner };
    await ask(owner, `PUT ${db}/env/${name}`, { body: '{"value":"x"}' });
    return ask(cell, `DELETE ${db}/env/${name}`);
  },
  [`DELETE ${db}`]: async (cell) => {
    const { stage, caller, isAllowed } = cell;
    const database = isAllowed ? await stage.fresh(`doomed-${caller}`) : stage.hall.database;
    return ask(cell, `DELETE ${db}`, { database });
  },
  [`POST ${db}/names`]: (cell) => ask(cell, `POST ${db}/names`, { body: `more-${cell.caller}` }),
  [`PUT ${db}/names`]: (cell) => ask(cell, `PUT ${db}/names`, { body: `["one-${cell.caller}"]` }),
  ...grantRequests('reader'),
  ...grantRequests('developer'),
  ...grantRequests('admin'),
  [`DELETE ${db}/grants/:identity, their own`]: async (cell) => {
    const { stage, caller, as } = cell;
    const answer = await ask(cell, `DELETE ${db}/grants/:identity`);
    const hasRole = caller === 'reader' || caller === 'developer' || caller === 'admin';
    if (hasRole && as !== undefined) {
      await stage.running.grant(stage.hall.database, caller, as, stage.owner);
    }
    return answer;
  },
  'GET /v1/quota/:identity, of another': (cell) => ask(cell, `GET /v1/quota/${'09'.repeat(32)}`),
  'PUT /v1/quota/:identity': (cell) => ask(cell, 'PUT /v1/quota/:identity', { body: '{}' }),
  [`GET ${db}/history`]: (cell) => ask(cell, `GET ${db}/history`, { more: '?table=note&key=1' }),
  [`PUT ${db}/history/settings`]: (cell) => ask(cell, `PUT ${db}/history/settings`, { body: '{}' }),
  [`POST ${db}/history/forget`]: (cell) => {
    const body = JSON.stringify({ before: 0, confirm: cell.stage.hall.database });
    return ask(cell, `POST ${db}/history/forget`, { body });
  },
  [`PUT ${db}/quota`]: (cell) => ask(cell, `PUT ${db}/quota`, { body: '{}' }),
  [`POST ${db}/tokens`]: (cell) => ask(cell, `POST ${db}/tokens`, { body: '{}' }),
  [`DELETE ${db}/tokens/:id`]: async (cell) => {
    const { stage } = cell;
    const { id } = await stage.running.agent(stage.hall.database, {}, stage.owner);
    return ask(cell, `DELETE ${db}/tokens/${id}`);
  },
  [`POST ${db}/call/:name, a reducer`]: (cell) => {
    return ask(cell, `POST ${db}/call/put_note`, { body: '[1]' });
  },
  [`POST ${db}/call/:name, a private reducer`]: (cell) => {
    return ask(cell, `POST ${db}/call/tidy`, { body: '[]' });
  },
  [`POST ${db}/call/:name, a lifecycle reducer`]: (cell) => {
    return ask(cell, `POST ${db}/call/begin`, { body: '[]' });
  },
  [`POST ${db}/call/:name, a procedure`]: (cell) => {
    return ask(cell, `POST ${db}/call/count_notes`, { body: '[]' });
  },
  [`POST ${db}/call/:name, a private procedure`]: (cell) => {
    return ask(cell, `POST ${db}/call/sweep`, { body: '[]' });
  },
  [`POST ${db}/call/:name, elsewhere`]: (cell) => {
    const database = cell.stage.elsewhere;
    return ask(cell, `POST ${db}/call/put_note`, { database, body: '[1]' });
  },
  [`POST ${db}/previews`]: (cell) => ask(cell, `POST ${db}/previews`, { body: previewed }),
  [`POST ${db}/previews/:id/apply, their own`]: async (cell) => {
    return ask(cell, `POST ${db}/previews/${await ownPreview(cell)}/apply`);
  },
  [`DELETE ${db}/previews/:id, their own`]: async (cell) => {
    return ask(cell, `DELETE ${db}/previews/${await ownPreview(cell)}`);
  },
  [`GET ${db}/schema`]: (cell) => ask(cell, `GET ${db}/schema`, { more: '?version=10' }),
  [`GET ${db}/schema, elsewhere`]: (cell) => {
    return ask(cell, `GET ${db}/schema`, { database: cell.stage.elsewhere, more: '?version=10' });
  },
  'GET /v1/jobs/:id, of the owner': async (cell) =>
    ask(cell, `GET /v1/jobs/${await ownersJob(cell)}`),
  'DELETE /v1/jobs/:id, of the owner': async (cell) => {
    return ask(cell, `DELETE /v1/jobs/${await ownersJob(cell)}`);
  },
  [`POST ${db}/import`]: (cell) => {
    const more = '?table=note&mode=insert';
    return ask(cell, `POST ${db}/import`, { body: '', more, type: 'application/x-ndjson' });
  },
  [`GET ${db}/health, detail`]: (cell) => ask(cell, `GET ${db}/health`, { more: '?detail' }),
  [`POST ${db}/sql`]: (cell) => ask(cell, `POST ${db}/sql`, { body: 'SELECT * FROM note' }),
  [`POST ${db}/sql, elsewhere`]: (cell) => {
    const database = cell.stage.elsewhere;
    return ask(cell, `POST ${db}/sql`, { database, body: 'SELECT * FROM note' });
  },
  [`POST ${db}/pre_publish`]: (cell) => {
    return ask(cell, `POST ${db}/pre_publish`, { body: cell.stage.program, more: js });
  },
  [`POST ${db}/static`]: (cell) => ask(cell, `POST ${db}/static`, { body: '{"files":[]}' }),
  [`PUT ${db}/static/:hash`]: async (cell) => {
    const { hash } = await announced(cell, cell.stage.hall.database);
    return ask(cell, `PUT ${db}/static/${hash}`, { body: fileContent });
  },
  'GET /app/:db/*, with files': async (cell) => {
    const { elsewhere } = cell.stage;
    await published(cell, elsewhere);
    return ask(cell, 'GET /app/:db/index.html', { database: elsewhere });
  },
  [`PUT ${db}/reset`]: (cell) => ask(cell, `PUT ${db}/reset`, { more: js }),
  [`POST ${db}/lock`]: async (cell) => {
    const answer = await ask(cell, `POST ${db}/lock`);
    await ask({ ...cell, as: cell.stage.owner }, `POST ${db}/unlock`);
    return answer;
  },
  [`ANY ${db}/route/*, no route`]: (cell) => ask(cell, `PATCH ${db}/route/anything`),
  [`ANY ${db}/route/*, a handler`]: (cell) => ask(cell, `PATCH ${db}/route/hook`),
  [`ANY ${db}/route/*, auth: 'optional'`]: (cell) => ask(cell, `PATCH ${db}/route/greet`),
  [`ANY ${db}/route/*, auth: 'required'`]: (cell) => ask(cell, `PATCH ${db}/route/mine`),
  [`POST ${db}/restore, as a new database`]: (cell) => {
    return ask(cell, `POST ${db}/restore`, { body: `{"as":"copy-${cell.caller}"}` });
  },
  [`POST ${db}/restore, in place`]: (cell) => {
    return ask(cell, `POST ${db}/restore`, { body: '{"in_place":true}' });
  },
  'POST /v1/mcp': (cell) => ask(cell, 'POST /v1/mcp', { body: toolList }),
  [`POST ${db}/mcp`]: (cell) => ask(cell, `POST ${db}/mcp`, { body: toolList }),
};

/** The owner asks for a snapshot. */
async function ownersJob({ stage }: RequestCell): Promise<string> {
  const where = `/v1/database/${stage.hall.database}/snapshot`;
  const { text } = await withRoom(() => stage.running.ask('POST', where, { as: stage.owner }));
  return String(JSON.parse(text).job);
}

const previewed = JSON.stringify({ reducer: 'put_note', args: [1] });

/** A preview of the caller, if the table says that it may have one. */
async function ownPreview(cell: RequestCell): Promise<string> {
  if (!cell.isAllowed) return 'none';
  const { text } = await ask(cell, `POST ${db}/previews`, { body: previewed });
  return String(JSON.parse(text).id);
}

const fileContent = 'page';

/** The owner announces a page for a database. */
async function announced({ stage }: RequestCell, database: string) {
  const hash = createHash('sha256').update(fileContent).digest('hex');
  const body = JSON.stringify({
    files: [{ path: '/index.html', hash, bytes: fileContent.length }],
  });
  const where = `/v1/database/${database}/static`;
  const { text } = await stage.running.ask('POST', where, { as: stage.owner, body, headers: json });
  return { hash, set: String(JSON.parse(text).static) };
}

/** The owner publishes a page with a database. */
async function published(cell: RequestCell, database: string): Promise<void> {
  const { stage } = cell;
  const as = stage.owner;
  const { hash, set } = await announced(cell, database);
  const where = `/v1/database/${database}`;
  await stage.running.ask('PUT', `${where}/static/${hash}`, { as, body: fileContent });
  await stage.running.ask('PUT', `${where}${js}&static=${set}`, { as, body: stage.program });
}

/** Gives a role to somebody new, or takes it from them. */
function grantRequests(role: 'reader' | 'developer' | 'admin'): Record<string, Send> {
  const article = role === 'admin' ? 'an' : 'a';
  return {
    [`PUT ${db}/grants/:identity, ${role}`]: async (cell) => {
      const { identity } = await cell.stage.running.person();
      return ask(cell, `PUT ${db}/grants/${identity}`, { body: JSON.stringify({ role }) });
    },
    [`DELETE ${db}/grants/:identity, of ${article} ${role}`]: async (cell) => {
      const { running, hall, owner } = cell.stage;
      const somebody = await running.person();
      await running.grant(hall.database, role, somebody, owner);
      return ask(cell, `DELETE ${db}/grants/${somebody.identity}`);
    },
  };
}

/** Sends what a row is about, as one of the callers. */
export function send({ label, code }: MatrixRow, cell: RequestCell): Promise<Answer> {
  return special[label]?.(cell) ?? ask(cell, code);
}

/** Labels that this file has more to say of. */
export const specialLabels = Object.keys(special);
