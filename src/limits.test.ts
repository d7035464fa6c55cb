import { expect, it } from 'vitest';
import { limits, statementBytesMax } from './limits.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

it.each<readonly [relation: string, holds: boolean]>([
  [
    'a row of bytes, whose text is twice as long, can be imported again',
    limits.rowTextBytesMax >= 2 * limits.rowBytesMax,
  ],
  [
    'the rows of a commit, copied for the log, fit beside what one call may hold',
    3 * limits.importAtomicBytesMax < limits.callBufferBytesMax,
  ],
  ['a part of a file has a batch', limits.importPartBytesMax >= limits.importBatchBytesMax],
  ['one caller leaves exports to others', limits.callerExportsMax < limits.exportsMax],
  ['one caller leaves imports to others', limits.callerImportsMax < limits.importsMax],
  ['an export sees its slice end', limits.exportLookRows <= 1_000],
  [
    'open streams leave room for requests',
    limits.bridgeRequestsMax + limits.bridgeStreamsMax < limits.bridgeMessagesMax,
  ],
  [
    'a database is looked at before it is too late to wake it',
    limits.sleepLookMillis <= limits.wakeSpareMillis &&
      limits.wakeSpareMillis + limits.wakeMillisMin < limits.wakeAheadMillisMax,
  ],
  [
    'a database that sleeps for as short as may be is one that nobody uses',
    limits.sleepLookMillis <= limits.sleepAfterMillisMin &&
      limits.sleepAfterMillisMin <= limits.sleepAfterMillis,
  ],
  [
    'an export that is read slowly keeps its database awake by itself',
    limits.exportIdleMillisMax < limits.sleepAfterMillis,
  ],
  ['the service refuses large messages', limits.bridgeLineBytesMax > limits.bodyBytesMax],
  [
    'what our client packs must be let in',
    limits.socketMessageBytesMax >= limits.clientFrameBytesTarget,
  ],
  [
    'a call that logs as much as it may must find room',
    limits.moduleLogLinesPerSecondMax * limits.moduleLogBurstSeconds >=
      2 * limits.logLinesPerCallMax,
  ],
  [
    'a segment of one large record must fit an upload in parts',
    limits.uploadPartBytes * limits.uploadPartsMax > 2 * limits.recordBytesMax,
  ],
  [
    'what an archive says of itself must fit one request, and what is listed must be found',
    limits.archiveStateBytesMax <= limits.uploadPartBytes &&
      limits.manifestsSearchedMax <= limits.backupsListedMax,
  ],
  [
    'a read of a shared log has room for its two largest entries, and the queue for full ones',
    limits.sharedReadBytesMax >= 2 * Math.max(limits.entryBytesMax, limits.s3EntryBytesMax) &&
      limits.replicatorQueueBytesMax >= 2 * limits.entryBytesMax &&
      limits.keptEntryBytesMax >= limits.entryBytesMax,
  ],
  [
    'nothing is deleted while what was known of it counts, or a signed request can arrive',
    limits.s3DeleteAfterMillis > 2 * (limits.s3KnownMillisMax + 15 * 60_000),
  ],
  [
    'a leader is looked at several times within a lease, and all candidates try within another',
    4 * (limits.leaderLookMillis + limits.leaderLookSpreadMillis) <= 2 * limits.leaseMillisMin &&
      limits.leaseMillisMin <= limits.leaseMillis,
  ],
  [
    'an archive takes a snapshot before a backup has to read more log than that',
    limits.archiveBaseLogBytesMin >= limits.backupSnapshotLogBytesMax &&
      limits.archiveLagBytesMax > limits.archiveBaseLogBytesMin,
  ],
  [
    'a message of a client, and any answer, fits a frame between two hosts',
    limits.lineFrameBytesMax >= limits.socketMessageBytesMax + 7 * limits.callResultBytesMax &&
      limits.callResultBytesMax >= 6 * limits.lineNameCharactersMax,
  ],
  ['publishers must not wait for each other', limits.bodiesBytesMax >= 4 * limits.programBytesMax],
  [
    'every watched resource and list must find room',
    limits.mcpMessagesWaitingMax > limits.watchedResourcesMax + 4,
  ],
  [
    'the longest line of a log must fit a batch',
    limits.logBatchBytesMax >=
      2 * (limits.logLineBytesMax + (4 + 2 * limits.traceFramesMax) * limits.logNameCharactersMax),
  ],
  [
    'a follower without lines must find room for as many as it holds',
    limits.logFollowerLinesMax % limits.logFollowerLinesAtOnce === 0,
  ],
  [
    'a line of the log, with each of its bytes escaped, must be readable',
    limits.agentLogScanBytesMax > 6 * limits.logLineBytesMax,
  ],
  [
    'as many static files as may be, with paths of 200 bytes, can be announced',
    limits.siteListBytesMax >= limits.siteFilesMax * (200 + 120),
  ],
  [
    'an answer with a static file holds three pieces',
    limits.siteAnswerHeldBytesMax === 3 * limits.sitePieceBytes,
  ],
  ['the largest static file is one of several', limits.siteBytesMax >= 4 * limits.siteFileBytesMax],
  [
    'memory holds the files of several databases',
    limits.siteFilesKeptMax >= 10 * limits.siteFilesMax,
  ],
  [
    'a snapshot must be due before it is whatever it costs, and cost less than it may take',
    limits.snapshotLogBytesMin < limits.snapshotLogBytesMax &&
      limits.snapshotCostShareMax < limits.snapshotShareMax &&
      limits.snapshotShareMax < limits.snapshotHurryShareMax,
  ],
  [
    'history must be given up before snapshots find no space',
    limits.historyFreeBytesMin >= limits.snapshotFreeBytesMin &&
      limits.historyFreeShareMin >= limits.snapshotFreeShareMin,
  ],
  [
    'a segment must fit an index, and a snapshot be further from others than one is due',
    limits.segmentBytes / limits.segmentIndexStepBytes <= limits.segmentIndexEntriesMax &&
      limits.snapshotGapBytesMax > limits.snapshotLogBytesMin,
  ],
  ['a slice must find time', limits.snapshotSliceMillisMin < limits.snapshotSliceMillisMax],
  ['sockets must leave room for requests', limits.socketsShareMax < 1],
  ['clients must find room', limits.descriptorsKept < limits.descriptorsMin],
  [
    'a client that is gone must not make its database look ill',
    limits.healthFanOutMillisMax > limits.socketIdleMillis + 2 * 1_000,
  ],
  ['one slow client must be bearable', limits.socketsBytesOutMax >= limits.socketBytesOutMax],
  [
    'two of the largest answers must fit what waits for a client',
    limits.socketBytesOutMax >= 2 * limits.sqlResultBytesMax,
  ],
  [
    'a service must have looked who writes before the next one does',
    limits.writerWaitMillis >= 2 * limits.writerCheckMillis,
  ],
  [
    'procedures must find time to end when the service stops',
    limits.shutdownMillisMax > limits.shutdownPatienceMillis + limits.procedureStopMillis,
  ],
  [
    'one caller must not take all places of procedures, nor all of a connection',
    limits.callerProceduresMax < limits.proceduresMax &&
      limits.callerProceduresMax < limits.feedShareMax,
  ],
  ['every row must fit a log record', limits.recordBytesMax >= limits.rowBytesMax],
  [
    'a snapshot writes several blocks between two syncs, each no larger than a record',
    limits.snapshotSyncBytes >= 4 * limits.snapshotBlockBytes &&
      limits.snapshotBlockBytes < limits.recordBytesMax,
  ],
  ['a row must hold a program', limits.systemRowBytesMax >= limits.programBytesMax + kibibyte],
  [
    'the arguments of a call must be parseable',
    limits.moduleElementCountMax >= limits.socketMessageBytesMax,
  ],
  [
    'a list of the largest length must fit a call',
    limits.moduleElementCountMax * 8 <= limits.callBufferBytesMax,
  ],
  [
    'one identity must leave memory for the live queries of others',
    limits.liveQueryBytesMax >= 4 * limits.liveIdentityBytesMax,
  ],
  [
    'the largest query set must fit the share of one identity',
    limits.liveIdentityBytesMax >= limits.querySetQueriesMax * 4 * kibibyte,
  ],
  [
    'the requests of one module must leave room for those of others',
    limits.outboundServiceRequestsMax >= 4 * limits.outboundRequestsMax,
  ],
  [
    'bodies of one module must fit its requests',
    limits.outboundBodiesBytesMax >= 2 * limits.outboundBodyBytesMax &&
      limits.outboundRequestsMax >= limits.outboundHostRequestsMax,
  ],
  [
    'as many procedures as a database may have must fit its lanes',
    limits.laneCallsMax * limits.databaseLanesMax >= limits.proceduresMax,
  ],
  [
    'schedules must leave a lane to callers',
    limits.scheduledProceduresMax < limits.databaseLanesMax,
  ],
  ['two programs must find room', limits.linkQueueBytesMax >= 2 * limits.programBytesMax],
  ['what a view returns must fit', limits.viewBytesMax >= limits.viewResultBytesMax],
  [
    'results of views must leave room for their rows: an empty one takes about 16 KiB',
    limits.viewBytesMax >= 2 * limits.viewInstancesMax * 16 * kibibyte,
  ],
  ['agents must not drive out each other', limits.cursorsBytesMax >= 4 * limits.cursorBytesMax],
  [
    'one statement with the largest result must fit what its caller may hold',
    limits.sqlCallerMemoryBytesMax >= limits.sqlMemoryBytesMax + limits.sqlResultBytesMax,
  ],
  [
    'one caller must leave memory for the statements of others',
    limits.sqlDatabaseMemoryBytesMax >= limits.sqlCallerMemoryBytesMax + limits.sqlMemoryBytesMax,
  ],
  [
    'a call and all statements must fit the heap of a thread, with what is not collected yet',
    limits.workerHeadroomMebibytes * mebibyte >= limits.callBufferBytesMax + 2 * statementBytesMax,
  ],
  [
    'a write must be refused by its own bound before its call is ended, with some garbage',
    limits.sqlWriteBytesMax <= (limits.callBufferBytesMax * 3) / 4,
  ],
  [
    'one caller must leave others a place for a long statement, and others the owner',
    2 * limits.callerLongReadsMax <= limits.longReadsMax &&
      limits.callerLongReadsMax < limits.othersLongReadsMax &&
      limits.othersLongReadsMax < limits.longReadsMax &&
      2 * limits.callerLongWritesMax <= limits.longWritesMax,
  ],
  ['a turn has bounds', limits.callsPerTurnMin <= limits.callsPerTurnMax],
  ['a turn is taken from the queue', limits.callQueueMax >= limits.callsPerTurnMax],
  ['clients that stay can fill a turn', limits.feedQueueMax >= limits.callsPerTurnMax],
  ['no client takes most of the queue', limits.feedShareMax <= limits.feedQueueMax / 8],
  ['clients that stay must leave room for others', limits.feedQueueMax < limits.callQueueMax],
  ['a slice is part of a turn', limits.readSliceMillisMax <= limits.turnMillisMax],
])('limits fit each other: %s', (_, holds) => {
  expect(holds).toBe(true);
});
