import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

/**
 * Tests of rooms that need no service, and of what stands on them. They share processes, so that
 * each need not start one and load the engine again; but for four, which look at the memory or the
 * timers of theirs.
 */
const together = [
  'src/{values,schema,protocol,store,sql,live,log,module,database,mcp-protocol}/**/' +
    '!(held-bytes|own-text|outgoing).test.ts',
  'src/{auth,bundle,cli,doors,http,mcp,server,websocket}/**/!(notices).test.ts',
  'test/{client,codegen,conformance,live,simulation,sql}/**/*.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: './test/support/embed-guest.mjs',
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // What never comes true fails as well later, and a machine that is busy is no fault.
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Much of the time is spent waiting for processes and disks, also on two cores.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'together', include: together, isolate: false } },
      {
        extends: true,
        test: { name: 'apart', include: ['{src,test}/**/*.test.ts'], exclude: together },
      },
    ],
  },
});
