import type { Completion, CompletionRequest, Prompt } from './prompt.ts';
import type { RequestContext } from './request-context.ts';
import type { Resources } from './resource.ts';
import type { Tool } from './tool.ts';

/** The name and version that a server reports. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/**
 * The content of a server; the engine handles the protocol. `Session` is what the server needs to
 * know about the caller; the engine passes it through without inspecting it. The protocol has no
 * sessions: each request brings its own.
 *
 * A capability is declared if its member is present; undeclared ones do not exist.
 */
export interface ServerDefinition<Session> {
  readonly info: ServerInfo;
  /** Returns what a client tells its agent about this server. */
  instructions(session: Session): string;
  /** False: tools, prompts or instructions depend on the caller or can change: do not cache. */
  isConstant?(session: Session): boolean;
  /** In a fixed order; the same for the same session. */
  tools(session: Session): Promise<readonly Tool<Session>[]>;
  readonly resources?: Resources<Session>;
  /** In a fixed order. */
  readonly prompts?: (session: Session) => readonly Prompt<Session>[];
  readonly complete?: (
    request: CompletionRequest,
    context: RequestContext<Session>,
  ) => Promise<Completion>;
  /**
   * Reports changes to the list of tools until the returned function is called; returns `undefined`
   * if it never changes for this session. Modern era only.
   */
  readonly watchTools?: WatchList<Session>;
  readonly watchPrompts?: WatchList<Session>;
  /** Whether clients can request log messages with responses (modern era only). */
  readonly logs?: true;
  /** 32 random bytes that seal the state kept by clients. Absent: nothing can ask for input. */
  readonly sealingKey?: Uint8Array;
}

export type WatchList<Session> = (
  session: Session,
  changed: () => void,
) => (() => void) | undefined;
