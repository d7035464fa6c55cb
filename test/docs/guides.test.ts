import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, root } from '../service/harness.ts';
import { PostgresCluster, withoutPostgres } from '../support/postgres-cluster.ts';
import { S3Server } from '../support/s3-server.ts';
import { someOf } from '../support/share.ts';
import { type Block, blocksOf, missingLine } from './blocks.ts';
import { Desk, hasTools, type Outcome } from './desk.ts';

interface Granted {
  readonly isServed?: true;
  readonly before?: string;
  /** It is about a PostgreSQL with a standby, at this address, and about these further ones. */
  readonly postgres?: { readonly address: string; readonly others: readonly string[] };
  /** It is also about an S3-compatible store at this address. */
  readonly store?: string;
}

/**
 * Documents whose commands are run here, one block after the other, as a reader would; with what a
 * document takes for granted.
 */
const documents: Readonly<Record<string, Granted>> = {
  'README.md': {},
  'docs/guide/first-app.md': {},
  'docs/guide/agents.md': {},
  'docs/guide/sql.md': {
    isServed: true,
    before: 'reducerdb publish my-db --module-path examples/chat',
  },
  'docs/guide/clients.md': {
    isServed: true,
    before: 'reducerdb publish my-chat --module-path examples/chat',
  },
  'docs/guide/react.md': {
    isServed: true,
    before: 'reducerdb publish my-chat --module-path examples/chat',
  },
  'docs/guide/apps.md': {},
  'docs/guide/backups.md': {},
  'docs/guide/console.md': {},
  'docs/guide/http.md': { isServed: true },
  'docs/guide/inside.md': {},
  'docs/guide/deploys.md': {},
  'docs/guide/dev.md': {},
  'docs/guide/export-import.md': {},
  'docs/guide/from-one-machine-to-three.md': {
    postgres: {
      address: 'postgres://reducerdb@pg1,pg2/reducerdb',
      others: ['3001', '3010', '3011', '3020', '3021', '3030', '3040', '3041'].map(
        (port) => `127.0.0.1:${port}`,
      ),
    },
    store: 's3://bucket/cluster',
  },
  'docs/guide/identities.md': {},
  'docs/guide/memory.md': {},
  'docs/guide/changing-a-module.md': {},
  'docs/guide/operating.md': {},
  'docs/guide/procedures.md': { isServed: true },
  'docs/guide/rights.md': {},
  'docs/guide/schedules.md': { isServed: true },
  'docs/guide/secrets.md': { isServed: true },
  'docs/guide/settings.md': {},
  'docs/guide/signing-in.md': { isServed: true },
  'docs/guide/testing.md': {},
  'docs/guide/values.md': { isServed: true },
  'examples/chat/README.md': { isServed: true },
  // It lies in the project that the template becomes.
  'templates/basic/README.md': {
    isServed: true,
    before: 'reducerdb init app && mv app/* .',
  },
};

/** What everybody reads, and of the others every fourth one by turns, or all. */
const front = ['README.md', 'docs/guide/first-app.md'];
const thisTime = [
  ...front,
  ...someOf(Object.keys(documents).filter((document) => !front.includes(document))),
];

/** Guides of another kind of block, and the tests that run them. */
const otherwise: Readonly<Record<string, string>> = {
  'docs/guide/modules.md': 'test/modules-guide.test.ts',
  'docs/guide/security.md': 'test/docs/security.test.ts',
};

/** These build and test the project itself: whoever runs this test has done so. */
const aboutTheProject = ['npm ci && npm run demo', 'npm ci && npm test'];

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

describe('every document', () => {
  it('[ease 5.5] is run by a test', () => {
    const guides = readdirSync(path.join(root, 'docs/guide')).map((name) => `docs/guide/${name}`);
    const run = Object.keys({ ...documents, ...otherwise });
    expect(guides.filter((guide) => !run.includes(guide))).toEqual([]);
    for (const document of Object.keys(documents)) {
      for (const block of withoutSql(blocksOf(read(document)))) workOf(block);
    }
    for (const [guide, test] of Object.entries(otherwise)) {
      expect(read(test)).toContain(guide);
      const languages = blocksOf(read(guide)).map(({ language }) => language);
      expect(languages.filter((language) => !['ts', 'sql', 'text'].includes(language))).toEqual([]);
    }
  });

  it('that has nothing to run is told from one that is not understood', () => {
    const [block] = blocksOf('```sh maybe\ntrue\n```');
    expect(() => workOf(block as Block)).toThrow('line 1: nobody knows how to run `sh maybe`');
    expect(() => blocksOf('```sh\ntrue')).toThrow('line 1 is not closed');
    expect(missingLine('a  \nb\nc', 'a\nc')).toBeUndefined();
    expect(missingLine('a\nb', 'b\na')).toBe('a');
  });
});

const runnable = thisTime.filter((document) => {
  return withoutPostgres === undefined || documents[document]?.postgres === undefined;
});

describe.skipIf(!hasTools).each(runnable)('%s', (document) => {
  const granted = documents[document] ?? {};
  let desk: Desk;
  /** What the block before printed. */
  let printed = '';
  let postgres: PostgresCluster | undefined;
  let store: S3Server | undefined;
  beforeAll(async () => {
    desk = await Desk.make();
    if (granted.store !== undefined) {
      store = await S3Server.start();
      desk.replace(granted.store, `${granted.store}?endpoint=${store.endpoint}`);
    }
    if (granted.postgres !== undefined) {
      postgres = await PostgresCluster.start();
      desk.replace(granted.postgres.address, postgres.address);
      for (const address of granted.postgres.others) {
        desk.replace(address, `127.0.0.1:${await freePort()}`);
      }
    }
    if (granted.isServed) await desk.start('reducerdb start');
    if (granted.before !== undefined) await succeed(desk.run(granted.before));
  });
  afterAll(async () => {
    const codes = await desk.leave();
    await postgres?.stop();
    await store?.stop();
    expect(codes.filter((code) => code !== 0)).toEqual([]);
  });

  for (const [at, block, all] of numbered(withoutSql(blocksOf(read(document))))) {
    const work = workOf(block, all[at + 1]);
    if (work === undefined) continue;
    it(`line ${block.line}: ${block.text.split('\n')[0]}`, async () => {
      printed = (await work(desk, printed)) ?? printed;
    }, 90_000);
  }
});

function numbered(blocks: readonly Block[]) {
  return blocks.map((block, at) => [at, block, blocks] as const);
}

/** Statements, and the text of what refuses them, are the work of `test/sql-guide.test.ts`. */
function withoutSql(blocks: readonly Block[]): readonly Block[] {
  return blocks.filter(({ language }, at) => {
    return language !== 'sql' && !(language === 'text' && blocks[at - 1]?.language === 'sql');
  });
}

/** Does what a block says; may give what it printed. Takes what was printed last. */
type Work = (desk: Desk, printed: string) => Promise<string | undefined> | undefined;

function workOf(block: Block, next?: Block): Work | undefined {
  const { language, words, text, line } = block;
  const [first, file = ''] = words;
  switch ([language, words.length > 1 ? `${first} file` : first].join(' ').trim()) {
    case 'sh':
      if (aboutTheProject.includes(text)) return undefined;
      return (desk) => succeed(desk.run(text));
    // What it looks at takes a moment: it is run again until it prints what comes next.
    case 'sh soon':
      return async (desk) => {
        for (;;) {
          const output = await succeed(desk.run(text));
          if (missingLine(output, next?.text ?? '') === undefined) return output;
          await sleep(200);
        }
      };
    case 'sh fails':
      return (desk) => fail(desk.run(text));
    // Installs from the registry: run by test/templates/stranger.test.ts.
    case 'sh stranger':
      return undefined;
    case 'sh start':
      return async (desk) => {
        await desk.start(text);
        return undefined;
      };
    case 'text':
      return (_, printed) => {
        expect({ missing: missingLine(printed, text), printed }).toEqual({ printed });
        return undefined;
      };
    case 'json':
      return (desk) => tryJson(desk, text);
    case 'ts':
      return (desk) => buildModule(desk, text);
    case 'ts append file':
      return (desk) => edit(desk, file, (old) => `${old}\n${text}\n`);
    case 'ts replace file':
      return (desk) => edit(desk, file, (old) => replaceOnce(old, text));
    default:
      if (!['ts', 'tsx'].includes(language) || words.length !== 1 || !first?.includes('.')) {
        const info = [language, ...words].join(' ');
        throw new Error(`line ${line}: nobody knows how to run \`${info}\``);
      }
      return (desk) => edit(desk, first, () => `${text}\n`);
  }
}

async function succeed(running: Promise<Outcome>): Promise<string> {
  const { code, output } = await running;
  if (code !== 0) throw new Error(`it ended with ${code}:\n${output}`);
  return output;
}

async function fail(running: Promise<Outcome>): Promise<string> {
  const { code, output } = await running;
  expect({ code, output }).not.toEqual({ code: 0, output });
  return output;
}

/** A configuration of an agent is tried: its server has to list tools. */
async function tryJson(desk: Desk, text: string): Promise<undefined> {
  const { mcpServers = {} } = JSON.parse(text) as { mcpServers?: Record<string, McpCommand> };
  for (const { command, args, env } of Object.values(mcpServers)) {
    const request = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
    const output = await succeed(desk.runProgram({ command, args, env, input: request }));
    expect(output).toContain('"name":"get_schema"');
    // All of them are about one database.
    expect(output).not.toContain('list_databases');
  }
}

interface McpCommand {
  readonly command: string;
  readonly args: string[];
  readonly env?: Record<string, string>;
}

/** A whole module is checked by the compiler and bundled. */
async function buildModule(desk: Desk, text: string): Promise<undefined> {
  desk.write('snippet/package.json', '{ "name": "snippet", "private": true, "type": "module" }');
  desk.write('snippet/tsconfig.json', read('templates/basic/tsconfig.json'));
  desk.write('snippet/src/index.ts', `${text}\n`);
  const output = await succeed(desk.run('reducerdb build --module-path snippet'));
  expect(output).not.toContain('not checked');
}

async function edit(desk: Desk, file: string, change: (old: string) => string): Promise<undefined> {
  desk.change(file, change);
}

/** The part above the line `---` is replaced by the part below it. */
function replaceOnce(text: string, parts: string): string {
  const [from = '', to = ''] = parts.split(/^---\n/m);
  const pieces = text.split(from);
  expect(pieces.length, `${from} stands there once`).toBe(2);
  return pieces.join(`${to}\n`);
}
