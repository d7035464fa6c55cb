/**
 * Which room may import which, in dependency order: a row lists only rooms above it, so the table
 * itself shows that there is no cycle. ARCHITECTURE.md shows the same table to people; a test
 * compares the two.
 */
export const arrows: Readonly<Record<string, readonly string[]>> = {
  values: [],
  schema: ['values'],
  protocol: ['values', 'schema'],
  store: ['values', 'schema'],
  sql: ['values', 'schema', 'store'],
  live: ['values', 'schema', 'store', 'sql'],
  log: ['values', 'schema', 'store'],
  module: ['values', 'schema', 'store', 'protocol'],
  database: ['values', 'schema', 'store', 'sql', 'live', 'log', 'module'],
  node: ['log', 'module', 'database'],
  auth: ['values'],
  bundle: ['values', 'module'],
  host: [
    'values',
    'schema',
    'protocol',
    'store',
    'live',
    'log',
    'module',
    'database',
    'node',
    'auth',
    'bundle',
  ],
  'mcp-protocol': ['values'],
  http: ['values', 'schema', 'protocol', 'auth', 'database', 'host', 'mcp-protocol'],
  websocket: ['values', 'schema', 'protocol', 'auth', 'live', 'database', 'host'],
  mcp: ['values', 'schema', 'protocol', 'auth', 'database', 'host', 'mcp-protocol'],
  declare: ['values', 'schema'],
  server: ['values', 'schema', 'protocol', 'declare'],
  client: ['values', 'schema', 'protocol', 'declare'],
  service: [
    'values',
    'schema',
    'auth',
    'host',
    'http',
    'websocket',
    'mcp-protocol',
    'mcp',
    'node',
    'client',
  ],
  react: ['values', 'declare', 'client'],
  codegen: ['values', 'schema', 'declare'],
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
    'bundle',
    'declare',
    'server',
  ],
  cli: [
    'values',
    'schema',
    'protocol',
    'codegen',
    'bundle',
    'auth',
    'host',
    'mcp-protocol',
    'service',
  ],
};

/** Rooms that know no machine: only the ECMAScript library, no package. */
export const engineRooms = [
  'values',
  'schema',
  'protocol',
  'store',
  'sql',
  'live',
  'log',
  'module',
  'database',
  'codegen',
];

/** Rooms that run inside modules or browsers; they have no dependencies either. */
export const guestRooms = ['declare', 'server', 'client'];

/** Rooms that stand upon a package which the program that uses them brings along. */
export const peerPackages: Readonly<Record<string, readonly string[]>> = { react: ['react'] };

/** Rooms with a published `index.ts`, and the entry's name. */
export const publishedRooms = ['service', 'server', 'client', 'react', 'values', 'testing'];

/** Files that something other than an import statement starts. */
export const startedFiles = [
  'src/cli/main.ts',
  'src/host/linker-main.ts',
  'src/host/process-main.ts',
  'src/host/spawner-main.ts',
  'src/host/thread-main.ts',
  'src/engine-globals.d.ts',
];
