// The demo itself, on the built service. Everything goes over HTTP, as any client would do it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildModule } from '../dist/bundle/build-module.js';
import { drawTable, readResult } from '../dist/cli/sql-table.js';
import { startService } from '../dist/service/index.js';
import { parseJson } from '../dist/values/json.js';
import { root } from './run.mjs';

const database = 'chat';

/** Starts, publishes, chats, shows; then ends, or serves until a signal. */
export async function runDemo({ folder, port, isOnce }) {
  const service = await startService({
    listen: { host: '127.0.0.1', port },
    dataDirectory: path.join(folder, 'data'),
    logLevel: 'warn',
  });
  try {
    console.log(`service on ${service.url}, data in ${folder}`);
    const owner = await savedIdentity(service.url, path.join(folder, 'owner.json'));
    await publish(service.url, owner);
    await chat(service.url, owner);
    await show(service.url, 'SELECT * FROM user');
    await show(service.url, 'SELECT id, text, sent FROM message');
    sayNext(service.url, await consoleAddress(service.url, owner));
    if (!isOnce) await untilSignal();
  } finally {
    await service.stop();
  }
}

async function publish(url, { token }) {
  const { program } = await buildModule(path.join(root, 'examples', 'chat'), {});
  const plan = await request(url, `/v1/database/${database}/pre_publish?host_type=Js`, {
    method: 'POST',
    token,
    body: program,
    accepts: [200, 404],
  });
  const consent =
    plan.status === 404
      ? ''
      : `&policy=BreakClients&token=${JSON.parse(plan.text).AutoMigrate.token}`;
  const { text } = await request(url, `/v1/database/${database}?host_type=Js${consent}`, {
    method: 'PUT',
    token,
    body: program,
  });
  const { Success } = JSON.parse(text);
  console.log(`${Success.op} database ${database}, identity ${Success.database_identity}`);
}

/** Two people talk; each is an identity of its own. */
async function chat(url, owner) {
  const guest = await newIdentity(url);
  await call(url, owner, 'set_name', ['Ada']);
  await call(url, guest, 'set_name', ['Grace']);
  await call(url, owner, 'send_message', ['Is anybody here?']);
  await call(url, guest, 'send_message', ['I am. This row came through a reducer.']);
}

async function call(url, { token }, reducer, args) {
  await request(url, `/v1/database/${database}/call/${reducer}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(args),
  });
  console.log(`called ${reducer}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`);
}

async function show(url, statement) {
  const { text } = await request(url, `/v1/database/${database}/sql`, {
    method: 'POST',
    body: statement,
  });
  const [result] = parseJson(text);
  console.log(`\n> ${statement}\n${drawTable(readResult(result))}`);
}

/** Where a browser becomes the owner. */
async function consoleAddress(url, { token }) {
  const { text } = await request(url, '/v1/console/codes', { method: 'POST', token });
  return `${url}${JSON.parse(text).path}`;
}

function sayNext(url, page) {
  const cli = `node ${path.relative(process.cwd(), path.join(root, 'dist/cli/main.js'))}`;
  const mcp = {
    command: 'node',
    args: [path.join(root, 'dist/cli/main.js'), 'mcp', database, '--server', url],
  };
  console.log(`
Try next, from another terminal:

  curl -s ${url}/v1/database/${database}/sql -d "SELECT * FROM message"
  curl -s ${url}/v1/database/${database}/call/send_message \\
    -H 'content-type: application/json' -d '["hello from curl"]'
  ${cli} sql --server ${url} ${database} "SELECT COUNT(*) AS messages FROM message"
  ${cli} describe --server ${url} ${database} --json

The console, as the owner of ${database}; this address counts once, for 60 seconds:

  ${page}

A page for people, in two windows; \`?as=grace\` at the end of its address is somebody else:

  npm --prefix ${path.relative(process.cwd(), path.join(root, 'examples/live-chat')) || '.'} run dev

For an agent, in the configuration of its MCP client:

  ${JSON.stringify({ mcpServers: { [database]: mcp } })}

or over HTTP: ${url}/v1/database/${database}/mcp
`);
}

function untilSignal() {
  console.log('Serving until Ctrl-C.');
  return new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
}

/** The demo's owner stays the same from run to run, so that it may publish again. */
async function savedIdentity(url, file) {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const identity = await newIdentity(url);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(identity), { mode: 0o600 });
  return identity;
}

async function newIdentity(url) {
  const { text } = await request(url, '/v1/identity', { method: 'POST' });
  return JSON.parse(text);
}

async function request(url, where, { method, token, headers = {}, body, accepts = [200] }) {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}${where}`, {
    method,
    headers: { ...headers, ...authorization },
    body,
  });
  const text = await answer.text();
  if (accepts.includes(answer.status)) return { status: answer.status, text };
  throw new Error(`${method} ${where}: ${answer.status} ${text}`);
}
