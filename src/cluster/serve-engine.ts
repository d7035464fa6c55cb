import { unreachable } from '../assert.ts';
import type { Directory } from '../shared-log/directory.ts';
import { EngineError, type ReadAnswer, type SharedLog } from '../shared-log/shared-log.ts';
import type { SnapshotStore } from '../shared-log/snapshot-store.ts';
import {
  type EngineAnswers,
  type EngineRequest,
  type FromEngine,
  type MessageEnd,
  movable,
  type ToEngine,
} from './engine-messages.ts';

export interface ServedEngine {
  readonly sharedLog: SharedLog;
  readonly directory: Directory;
  /** Absent: the engine keeps no snapshots. */
  readonly parts?: SnapshotStore;
  /** Milliseconds since 1970 by the engine's clock. */
  readonly time: () => Promise<number>;
  /** Why the engine takes no commits; absent: it cannot be asked. */
  readonly trouble?: () => Promise<string | undefined>;
  /** What the engine calls its past now; told to the other end whenever it changes. */
  readonly history: () => string | undefined;
}

/** Answers what the other end of a channel asks of an engine. */
export function serveEngine(end: MessageEnd, engine: ServedEngine): void {
  const waits = new Map<number, AbortController>();
  let told: string | undefined;
  const post = (message: FromEngine, moved: readonly ArrayBuffer[] = []): void => {
    end.postMessage(message, moved);
  };
  const tellHistory = (): void => {
    const history = engine.history();
    if (history === undefined || history === told) return;
    told = history;
    post({ kind: 'history', history });
  };
  const serve = async (id: number, request: EngineRequest): Promise<void> => {
    const stop = new AbortController();
    if (request.kind === 'wait') waits.set(id, stop);
    try {
      const value = await answerOf(engine, request, stop.signal);
      // A claim after this must name the past of the engine that answered.
      tellHistory();
      if (request.kind === 'read') postRead(value as ReadAnswer, id, post);
      else post({ kind: 'answer', id, value });
    } catch (error) {
      tellHistory();
      post({ kind: 'failed', id, message: error instanceof Error ? error.message : 'it failed' });
    } finally {
      waits.delete(id);
    }
  };
  end.on('message', (raw) => {
    const message = raw as ToEngine;
    if (message.kind === 'stop') waits.get(message.id)?.abort();
    else void serve(message.id, message.request);
  });
}

/** Entries move to the other thread instead of being copied there. */
function postRead(
  { entries, first }: ReadAnswer,
  id: number,
  post: (message: FromEngine, moved: readonly ArrayBuffer[]) => void,
): void {
  const copies = entries.map(({ seq, bytes }) => ({ seq, bytes: movable(bytes) }));
  const moved = copies.map(({ bytes }) => bytes.buffer);
  post({ kind: 'answer', id, value: { entries: copies, first } }, moved);
}

async function answerOf(
  { sharedLog, directory, parts = noParts, time, trouble }: ServedEngine,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<EngineAnswers[keyof EngineAnswers]> {
  switch (request.kind) {
    case 'append':
      return sharedLog.append(request.items);
    case 'read':
      return sharedLog.read(request.log, request.from, request.bytesMax, request.countMax);
    case 'wait':
      await sharedLog.wait(request.log, request.from, signal);
      return undefined;
    case 'confirm':
      return sharedLog.confirm(request.items);
    case 'truncate':
      await sharedLog.truncate(request.log, request.before);
      return undefined;
    case 'create':
      return sharedLog.create(request.log, request.bytes);
    case 'remove':
      await sharedLog.remove(request.log);
      return undefined;
    case 'capabilities':
      return sharedLog.capabilities();
    case 'beat':
      return directory.beat(request.me);
    case 'hint':
      await directory.hint(request.rows);
      return undefined;
    case 'hints':
      return directory.hints();
    case 'secretBox':
      return directory.secretBox(request.name, request.put);
    case 'forget':
      await directory.forget(request.host);
      return undefined;
    case 'putPart':
      return parts.putIfAbsent(request.name, request.bytes);
    case 'getPart':
      return parts.get(request.name);
    case 'listParts':
      return parts.list(request.prefix);
    case 'removePart':
      await parts.remove(request.name);
      return undefined;
    case 'time':
      return time();
    case 'trouble':
      return trouble?.();
    default:
      return unreachable(request);
  }
}

const refuse = (): Promise<never> => Promise.reject(new EngineError('it keeps no snapshots'));
const noParts: SnapshotStore = {
  ...{ place: 'the engine', putIfAbsent: refuse, get: refuse, list: refuse, remove: refuse },
};
