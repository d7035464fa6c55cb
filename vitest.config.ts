import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

/**
 * Tests of rooms that need no service, and of what stands on them. They share processes, so that
 * each need not start one and load the engine again; but for four, which look at the memory or the
 * timers of theirs.
 */
const together = [
  'src/{values,schema,protocol,store,sql,live,log,module,database,mcp-protocol,shared-log}/**/' +
    '!(held-bytes|own-text|outgoing).test.ts',
  'src/{auth,bundle,cli,doors,http,mcp,server,websocket}/**/!(notices).test.ts',
  'test/{client,codegen,conformance,live,simulation,sql}/**/*.test.ts',
];

/** These look at what their process is: its memory, descriptors, threads, children or warnings. */
const ownProcess = [
  'board-file|budget|child-starter|heap-care|linker|outbound-thread|process-worker|site',
  'snapshot-thread',
  'mcp-http|websocket-slow-reader',
].join('|');

/**
 * Tests with a host or a service in their own process share processes, too: a thousand modules
 * stand behind each, and take longer to load than most of these tests to run.
 */
const hosts = [
  `src/{backup,history,host,search,service,testing,transfer}/**/!(${ownProcess}).test.ts`,
  'test/{agent-tasks,cluster,contracts,preview,testing}/**/*.test.ts',
  'test/{declared-migrations,helpdesk-example,published-migrations,sql-guide,text-index}.test.ts',
  'test/service/{live-oracle,rights-matrix}.test.ts',
  ...readdirSync(new URL('test/service', import.meta.url))
    .filter((name) => name.endsWith('.test.ts') && startsService(`test/service/${name}`))
    .filter((name) => !ownProcess.split('|').includes(name.slice(0, -'.test.ts'.length)))
    .map((name) => `test/service/${name}`),
];

/** Whether this test uses a service in its own process (`running.ts`), and not only its types. */
function startsService(file: string): boolean {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  return /\b(?:Running\.start|openInn)\(/.test(text);
}

export default defineConfig({
  test: {
    globalSetup: './test/support/embed-guest.mjs',
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // What never comes true fails as well later, and a machine that is busy is no fault.
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Some of the time is spent waiting for processes and disks, also on two cores. More workers take
    // as long, and have each test wait for the others.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'together', include: together, isolate: false } },
      { extends: true, test: { name: 'hosts', include: hosts, isolate: false } },
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['{src,test}/**/*.test.ts'],
          exclude: [...together, ...hosts],
        },
      },
    ],
  },
});
