/**
 * Which room may import which, in dependency order: a row lists only rooms above it, so the table
 * itself shows that there is no cycle. ARCHITECTURE.md shows the same table to people; a test
 * compares the two.
 */
export const arrows: Readonly<Record<string, readonly string[]>> = {
  values: [],
  schema: ['values'],
  protocol: ['values', 'schema'],
  transfer: ['values'],
  search: ['schema'],
  store: ['values', 'schema', 'search'],
  sql: ['values', 'schema', 'search', 'store'],
  live: ['values', 'schema', 'store', 'sql'],
  log: ['values', 'schema', 'store'],
  'shared-log': ['values', 'log'],
  history: ['values', 'schema', 'store', 'sql', 'log'],
  module: ['values', 'schema', 'store', 'protocol'],
  database: ['values', 'schema', 'store', 'sql', 'live', 'log', 'shared-log', 'history', 'module'],
  node: ['log', 'module', 'database'],
  auth: ['values'],
  bundle: ['values', 'schema', 'module'],
  backup: ['values', 'store', 'log', 'node'],
  engines: ['values', 'backup', 'shared-log'],
  host: [
    'values',
    'schema',
    'protocol',
    'transfer',
    'store',
    'live',
    'log',
    'history',
    'module',
    'database',
    'node',
    'auth',
    'bundle',
    'backup',
    'shared-log',
  ],
  cluster: [
    ...['values', 'log', 'database', 'auth', 'node', 'backup', 'shared-log', 'engines', 'host'],
  ],
  doors: ['values', 'schema', 'auth', 'bundle', 'database', 'host'],
  declare: ['values', 'schema'],
  codegen: ['values', 'schema', 'declare'],
  'mcp-protocol': ['values'],
  http: [
    'values',
    'schema',
    'protocol',
    'transfer',
    'auth',
    'database',
    'host',
    'cluster',
    'doors',
    'codegen',
    'mcp-protocol',
  ],
  websocket: [
    ...['values', 'schema', 'protocol', 'auth', 'live', 'database', 'host', 'cluster', 'doors'],
  ],
  mcp: ['values', 'schema', 'protocol', 'auth', 'database', 'host', 'doors', 'mcp-protocol'],
  server: ['values', 'schema', 'protocol', 'declare'],
  client: ['values', 'schema', 'protocol', 'declare'],
  service: [
    'values',
    'schema',
    'auth',
    'backup',
    'shared-log',
    'engines',
    'host',
    'cluster',
    'doors',
    'http',
    'websocket',
    'mcp-protocol',
    'mcp',
    'node',
    'client',
  ],
  react: ['values', 'declare', 'client'],
  testing: [
    'values',
    'schema',
    'protocol',
    'log',
    'module',
    'database',
    'node',
    'auth',
    'host',
    'doors',
    'bundle',
    'declare',
    'server',
  ],
  cli: [
    'values',
    'schema',
    'protocol',
    'transfer',
    'codegen',
    'bundle',
    'auth',
    'backup',
    'shared-log',
    'engines',
    'host',
    'cluster',
    'doors',
    'mcp-protocol',
    'service',
  ],
};

/**
 * The same for the folders of a large room. Files beside the folders may import from all of them,
 * and no folder imports a file beside it, unless the file has a row of its own. The README of the
 * room shows the table to people.
 */
export const folderArrows: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  host: {
    ledger: [],
    linking: [],
    deployed: [],
    replication: [],
    seats: ['linking', 'replication'],
    watching: ['seats'],
    spawner: ['watching'],
    outbound: ['watching', 'spawner'],
    lanes: ['seats', 'watching', 'spawner', 'outbound'],
    snapshots: ['seats', 'spawner'],
    messages: ['linking', 'replication', 'seats', 'outbound', 'lanes'],
    workers: [
      ...['linking', 'deployed', 'seats', 'watching', 'spawner', 'outbound', 'lanes', 'snapshots'],
      ...['replication', 'messages'],
    ],
    feeds: ['replication', 'seats'],
    supervision: ['ledger', 'linking', 'replication', 'seats', 'feeds'],
    metrics: ['supervision'],
    registry: ['ledger', 'linking', 'replication', 'seats', 'supervision'],
    databases: ['ledger', 'linking', 'replication', 'seats', 'supervision', 'registry'],
    transfer: ['spawner', 'supervision', 'registry'],
    sites: ['workers', 'replication'],
    backups: ['replication', 'spawner', 'supervision', 'registry', 'databases'],
    deploys: ['deployed', 'supervision', 'sites'],
    publishing: [
      ...['linking', 'deployed', 'replication', 'seats', 'spawner', 'workers', 'supervision'],
      ...['registry', 'databases'],
      ...['sites', 'deploys'],
    ],
    offline: ['registry', 'sites'],
  },
  sql: {
    'failure.ts': [],
    'rights.ts': [],
    'schema.ts': [],
    'budget.ts': ['failure.ts'],
    syntax: ['failure.ts'],
    functions: ['failure.ts', 'syntax'],
    check: ['failure.ts', 'rights.ts', 'schema.ts', 'syntax', 'functions'],
    expressions: ['failure.ts', 'syntax', 'functions', 'check'],
    plan: ['failure.ts', 'schema.ts', 'syntax', 'functions', 'check', 'expressions'],
    operators: ['failure.ts', 'budget.ts', 'functions', 'check', 'expressions', 'plan'],
    run: [
      'failure.ts',
      'schema.ts',
      'budget.ts',
      'syntax',
      'functions',
      'check',
      'expressions',
      'plan',
      'operators',
    ],
  },
};

/**
 * The files that other rooms may import, of rooms that keep the rest to themselves. The README of
 * the room says what each of them is for.
 */
export const surfaces: Readonly<Record<string, readonly string[]>> = {
  sql: [
    'statement.ts',
    'statement-cache.ts',
    'without-literals.ts',
    'literal-text.ts',
    'shared-statement.ts',
    'split-statements.ts',
    'published.ts',
    'schema.ts',
    'rights.ts',
    'failure.ts',
    'budget.ts',
    'watched-query.ts',
    'check/typed.ts',
    'check/typed-expression.ts',
    'check/conjuncts.ts',
    'check/can-raise.ts',
    'planning.ts',
    'plan/plan.ts',
    'run/execution.ts',
    'run/results.ts',
    'expressions/row-compiler.ts',
    'expressions/frame.ts',
    'expressions/row-layout.ts',
    'functions/function.ts',
    'functions/value-codec.ts',
    'functions/canonical.ts',
  ],
};

/** Rooms that know no machine: only the ECMAScript library, no package. */
export const engineRooms = [
  'values',
  'schema',
  'protocol',
  'transfer',
  'store',
  'sql',
  'live',
  'log',
  'module',
  'database',
  'codegen',
  'shared-log',
];

/** Rooms that run inside modules or browsers; they have no dependencies either. */
export const guestRooms = ['declare', 'server', 'client'];

/** Rooms that need a package which the program that uses them provides. */
export const peerPackages: Readonly<Record<string, readonly string[]>> = { react: ['react'] };

/** Rooms with a published `index.ts`, and the entry's name. */
export const publishedRooms = ['service', 'server', 'client', 'react', 'values', 'testing'];

/** Files that a script writes from others: they are as long as they must be. */
export const writtenFiles = ['src/module/javascript/guest-text.ts'];

/** Roots of rooms that no command reaches yet; what they import is reached by them. */
export const foundations = ['src/shared-log/memory-engine.ts'];

/** Files that something other than an import statement starts. */
export const startedFiles = [
  'src/cli/main.ts',
  'src/host/linking/linker-main.ts',
  'src/host/publishing/source-main.ts',
  'src/host/workers/process-main.ts',
  'src/host/workers/process-actor-main.ts',
  'src/host/lanes/lane-main.ts',
  'src/host/outbound/outbound-main.ts',
  'src/host/snapshots/snapshot-main.ts',
  'src/host/transfer/rows-main.ts',
  'src/host/backups/backup-main.ts',
  'src/host/spawner/spawner-main.ts',
  'src/cluster/engine-main.ts',
  'src/cluster/store-engine-main.ts',
  'src/host/workers/thread-main.ts',
  'src/host/workers/load-main.ts',
  'src/server/web/globals.ts',
  'src/engine-globals.d.ts',
  'src/module/javascript/guest/environment.d.ts',
  'src/module/javascript/guest/prelude/size-guards.js',
  'src/module/javascript/guest/prelude/pattern-guards.js',
  'src/module/javascript/guest/bridge/bridge.js',
];
