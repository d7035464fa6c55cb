import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { completeBudget, statementMillis } from '../../src/host/seats/budget.ts';
import { limits, statementBytesMax } from '../../src/limits.ts';
import { resumeSetsMax } from '../../src/shared-limits.ts';
import { root } from '../service/harness.ts';

/** The tables of limits in the guide, with the numbers that the code has. */

const guide = readFileSync(path.join(root, 'docs/guide/settings.md'), 'utf8');

const units = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
] as const;

/** `256 MiB`. */
function size(bytes: number): string {
  const [scale, unit] = units.find(([of]) => bytes >= of) ?? [1, 'bytes'];
  return `${bytes / scale} ${unit}`;
}

/** `10,000`. */
const count = (amount: number) => amount.toLocaleString('en-US');
const perSecond = (amount: number) => `${count(amount)} a second`;
const seconds = (millis: number) => `${millis / 1_000} s`;

/** The first table: how each row begins, and its bound. */
const service: readonly (readonly [start: string, bound: string])[] = [
  [
    'requests of one identity',
    `${perSecond(limits.identityRequestsPerSecondMax)}, as many at once`,
  ],
  ['requests from one address', perSecond(limits.addressRequestsPerSecondMax)],
  ['connections from one address', count(limits.addressConnectionsMax)],
  ['connections', `${count(limits.connectionsMax)}, of which nine tenths may be WebSockets`],
  ['open files', `what the system allows, less ${limits.descriptorsKept} for databases`],
  ['requests being answered', count(limits.requestsMax)],
  [
    'requests that wait for a database',
    `${count(limits.openingRequestsMax)}, for ${seconds(limits.openingWaitMillisMax)}`,
  ],
  ['databases that are woken for their schedules', count(limits.scheduledWakesMax)],
  ['bodies of requests', size(limits.bodiesBytesMax)],
  [`answers of ${size(limits.largeAnswerBytesMin)} or more`, size(limits.answersBytesMax)],
  ['headers of a request', size(limits.headerBytesMax)],
  [
    'a connection without a request',
    `${seconds(limits.idleConnectionMillisMax)}; less when a sixteenth of all connections is ` +
      'free or fewer',
  ],
  ['new connections taken at once', `${limits.connectionsAtOnce}; on loopback 1`],
  [
    'headers, and a whole request',
    `${seconds(limits.headerMillisMax)}, and ${limits.requestMillisMax / 60_000} min`,
  ],
  ['body of a call', size(limits.bodyBytesMax)],
  ['program', `nearly ${Math.ceil(limits.programBytesMax / 1024 ** 2)} MiB`],
  ['body of a request to an HTTP handler', size(limits.handlerBodyBytesMax)],
  [
    'answer of a handler',
    `${size(limits.handlerAnswerBytesMax)}; ${limits.handlerHeadersMax}, and ` +
      size(limits.handlerHeaderBytesMax),
  ],
  [
    'procedures and handlers in flight',
    `${limits.callerProceduresMax}; ${count(limits.proceduresMax)}`,
  ],
  [
    'HTTP routes of one module',
    `${count(limits.httpRoutesMax)}; ${count(limits.httpRoutePathLengthMax)} characters`,
  ],
  ['depth of JSON', count(limits.nestingDepthMax)],
  ['time of a reducer call', seconds(limits.callMillisMax)],
  [
    'time that an SQL statement runs',
    `${seconds(statementMillis(completeBudget({})))}: 0.8 of the limit of a call`,
  ],
  ['heap of a module', `${limits.workerHeapMebibytesMax} MiB`],
  ['memory that one call takes on', size(limits.callBufferBytesMax)],
  [
    'rows of one SQL statement',
    `a million, or ${size(limits.sqlResultBytesMax)}; one row ${size(limits.rowBytesMax)}`,
  ],
  ['memory of one SQL statement', size(limits.sqlMemoryBytesMax)],
  [
    'memory of one SQL write',
    `${size(limits.sqlWriteBytesMax)}: about ${size(limits.sqlWriteBytesMax / 4)} of new rows`,
  ],
  [
    'memory of the reads of one caller',
    `${size(limits.sqlCallerMemoryBytesMax)}; ${size(limits.sqlDatabaseMemoryBytesMax)}`,
  ],
  [
    'long SQL queries of one database',
    `${limits.longReadsMax}; ${limits.callerLongReadsMax} of one caller, ` +
      `${limits.othersLongReadsMax} of all but the owner`,
  ],
  [
    'large SQL writes of one database',
    `${limits.longWritesMax}; ${limits.callerLongWritesMax} of one caller`,
  ],
  [
    'rows of one answer to an agent',
    `${count(limits.agentRowsMax)}, or ${size(limits.agentTextBytesMax)} as JSON; ` +
      `${size(limits.agentTextBytesUnasked)} unless it asks for more`,
  ],
  ['MCP requests of one caller', `${limits.mcpRequestsMax}; ${limits.mcpListenStreamsMax}`],
  ['waits of agents for changes', `${limits.agentWaitsMax}; ${limits.callerWaitsMax}`],
  ['id of an MCP request', `${count(limits.mcpIdCharactersMax)} characters`],
  ['what is kept for agents', `${limits.cursorsMax} of each, and ${size(limits.cursorsBytesMax)}`],
  [
    'HTTP requests of one module',
    `${count(limits.outboundRequestsMax)}; ${count(limits.outboundServiceRequestsMax)}`,
  ],
  ['such requests of one module to one host', count(limits.outboundHostRequestsMax)],
  [
    'time of such a request',
    `${seconds(limits.outboundMillis)}, or as the module asks, at most ` +
      seconds(limits.outboundMillisMax),
  ],
  ['its URL and headers', size(limits.outboundHeadBytesMax)],
  ['its body', `${size(limits.outboundBodyBytesMax)}; ${size(limits.outboundBodiesBytesMax)}`],
  ['redirects that it follows', count(limits.outboundRedirectsMax)],
  [
    'static files of one database',
    `${count(limits.siteFilesMax)}; ${size(limits.siteBytesMax)}; ${size(limits.siteFileBytesMax)}`,
  ],
  ['path of such a file', `${size(limits.sitePathBytesMax)}; ${size(limits.siteHeadersBytesMax)}`],
  ['time for which a replaced file', seconds(limits.siteEarlierMillis)],
  ['uploads of such files', count(limits.siteUploadsMax)],
  ['values of one database', `${limits.envNamesMax}, each ${size(limits.envValueBytesMax)}`],
  [
    'values that one database sets',
    `${size(limits.envBytesAtOnceMax)} at once, ${size(limits.envBytesPerSecond)} a second in the ` +
      'long run',
  ],
  ['values that come with a program', size(limits.publishEnvBytesMax)],
  ['exports of one database', `${limits.exportsMax}; ${limits.callerExportsMax}`],
  ['a client that takes nothing of its export', seconds(limits.exportIdleMillisMax)],
  ['imports of the service', `${limits.importsMax}; ${limits.callerImportsMax}`],
  [
    'rows of one batch of an import',
    `${count(limits.importBatchRows)}, or ${size(limits.importBatchBytesMax)}`,
  ],
  ['an import that is one commit', `${size(limits.importAtomicBytesMax)} of encoded rows`],
  ['rows that one import skips', count(limits.importSkippedMax)],
  ['blank lines of an import', `${size(limits.importBlankBytesMax)} more than its rows have`],
  [
    'a row as text',
    `${size(limits.rowTextBytesMax)}, and ${count(limits.rowTextPartsMax)} commas and brackets`,
  ],
  ['rows of all imports', size(limits.importHeldBytesMax)],
  [
    'outcomes of calls with an idempotency key; of one identity; for callers with a role alone',
    [
      count(limits.keptOutcomesMax),
      count(limits.callerKeptOutcomesMax),
      `the last ${count(limits.reservedKeptOutcomes)}, each for ${
        limits.keptOutcomeMillis / 3_600_000
      } hours`,
    ].join('; '),
  ],
  [
    'the value of one; its key',
    `${size(limits.keptValueBytesMax)}; ${limits.idempotencyKeyBytesMax} bytes`,
  ],
  ['imports that a database remembers', count(limits.importRangesMax)],
  [
    'jobs (snapshots, checks, backups, restores) that run',
    `${limits.jobsMax}; ${limits.callerJobsMax}, and ${limits.databaseJobsMax}`,
  ],
  ['jobs that are remembered', `${count(limits.jobsKeptMax)}; ${limits.callerJobsKeptMax}`],
  ['checks of databases', `${limits.hostVerifiesMax}; ${limits.hostDeepVerifiesMax}`],
  [
    'heap of the thread of such a check',
    `${limits.verifyHeapMebibytes} MiB; ${limits.deepVerifyHeapMebibytes} MiB`,
  ],
  ['refused requests in the audit log', `${limits.auditRefusalsPerMinuteMax} a minute`],
  [
    'attempts without effect in the ledger of a database',
    `${limits.ledgerRefusalsPerMinuteMax} a minute`,
  ],
];

const webSocket: typeof service = [
  ['one message of the client', size(limits.socketMessageBytesMax)],
  ['messages of the client that wait', count(limits.socketMessagesInMax)],
  ['bytes of them', size(limits.socketBytesInMax)],
  [
    'messages that the client has not read',
    `${count(limits.socketMessagesOutMax)}, or ${size(limits.socketBytesOutMax)}`,
  ],
  ['bytes that all clients together have not read', size(limits.socketsBytesOutMax)],
  ['changes that one database keeps', size(limits.resumeBytesMax)],
  [
    'what a client that comes back is sent: sets, updates, bytes, time to find them',
    `${count(resumeSetsMax)}, ${count(limits.resumeUpdatesMax)}, ` +
      `${size(limits.resumeAnswerBytesMax)}, ${limits.resumeMillisMax} ms`,
  ],
  [
    'silence',
    `${seconds(limits.socketIdleMillis)}; pings go every ${seconds(limits.socketPingMillis)}`,
  ],
  ['WebSockets of one service', 'nine tenths of its connections'],
];

/** The first two cells of each row in the table below a heading. */
function rowsBelow(heading: string): (readonly [what: string, bound: string])[] {
  const [, section = ''] = guide.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  const rows = [...own.matchAll(/^\| (.+?) \| (.+?) \| /gm)].slice(1);
  return rows.map(([, what = '', bound = '']) => [what, bound]);
}

it.each([
  ['Limits', service],
  ['Limits of a WebSocket', webSocket],
])('[cli 8.2] the table “%s” has the bounds of the code', (heading, wanted) => {
  const rows = rowsBelow(heading);
  const shown = rows.map(([what, bound], at) => {
    const start = wanted[at]?.[0] ?? '';
    return [what.startsWith(start) ? start : what, bound];
  });
  expect(shown).toEqual(wanted);
});

it('[cli 8.2] bounds that the tables put in words are those of the code', () => {
  expect(limits.socketsShareMax).toBe(0.9);
  expect(limits.connectionsKeptFreePart).toBe(16);
  expect(limits.sqlResultRowsMax).toBe(1_000_000);
  expect([limits.previewsMax, limits.previewsBytesMax]).toEqual([
    limits.cursorsMax,
    limits.cursorsBytesMax,
  ]);
  const gibibytes = Math.round((statementBytesMax / 1024 ** 3) * 10) / 10;
  expect(guide).toContain(`of its statements, about ${gibibytes} GiB at worst`);
});
