import type { Directory, HostRow, PlaceHint, SeenHost } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type {
  AppendItem,
  AppendResult,
  ConfirmItem,
  ConfirmResult,
  EngineCapabilities,
  ReadAnswer,
  SharedLog,
} from '../shared-log/shared-log.ts';

/** What is asked of the thread that holds the engine: the methods of its two interfaces. */
export type EngineRequest =
  | { readonly kind: 'append'; readonly items: readonly AppendItem[] }
  | {
      readonly kind: 'read';
      readonly log: LogName;
      readonly from: number;
      readonly bytesMax: number;
      readonly countMax: number | undefined;
    }
  | { readonly kind: 'wait'; readonly log: LogName; readonly from: number }
  | { readonly kind: 'confirm'; readonly items: readonly ConfirmItem[] }
  | { readonly kind: 'truncate'; readonly log: LogName; readonly before: number }
  | { readonly kind: 'create'; readonly log: LogName; readonly bytes: Uint8Array }
  | { readonly kind: 'remove'; readonly log: LogName }
  | { readonly kind: 'capabilities' }
  | { readonly kind: 'beat'; readonly me: HostRow }
  | { readonly kind: 'hint'; readonly rows: readonly PlaceHint[] }
  | { readonly kind: 'hints' }
  | { readonly kind: 'secretBox'; readonly name: string; readonly put: Uint8Array | undefined }
  | { readonly kind: 'forget'; readonly host: HostId }
  | { readonly kind: 'putPart'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: 'getPart'; readonly name: string }
  | { readonly kind: 'listParts'; readonly prefix: string }
  | { readonly kind: 'removePart'; readonly name: string }
  | { readonly kind: 'time' }
  | { readonly kind: 'trouble' };

export interface EngineAnswers {
  readonly append: readonly AppendResult[];
  readonly read: ReadAnswer;
  readonly wait: undefined;
  readonly confirm: readonly ConfirmResult[];
  readonly truncate: undefined;
  readonly create: Awaited<ReturnType<SharedLog['create']>>;
  readonly remove: undefined;
  readonly capabilities: EngineCapabilities;
  readonly beat: readonly SeenHost[];
  readonly hint: undefined;
  readonly hints: Awaited<ReturnType<Directory['hints']>>;
  readonly secretBox: Uint8Array | undefined;
  readonly forget: undefined;
  readonly putPart: boolean;
  readonly getPart: Uint8Array | undefined;
  readonly listParts: readonly string[];
  readonly removePart: undefined;
  /** Milliseconds since 1970 by the engine's clock. */
  readonly time: number;
  /** Why it takes no commits, as far as it says. */
  readonly trouble: string | undefined;
}

/** `stop` ends the `wait` with this id, which is then answered. */
export type ToEngine =
  | { readonly kind: 'ask'; readonly id: number; readonly request: EngineRequest }
  | { readonly kind: 'stop'; readonly id: number };

/** `failed` stands for an `EngineError`; `history` says what the engine calls its past now. */
export type FromEngine =
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly value: EngineAnswers[keyof EngineAnswers];
    }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  | { readonly kind: 'history'; readonly history: string };

/** What both ends of a message channel have, those of a thread included. */
export interface MessageEnd {
  postMessage(message: unknown, moved?: readonly ArrayBuffer[]): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/**
 * A copy in memory of its own, which can move to the other thread. What stays here is needed again
 * when the result is unknown.
 */
export function movable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}
