import type { Completion, CompletionRequest, Prompt } from './prompt.ts';
import type { RequestContext } from './request-context.ts';
import type { Resources } from './resource.ts';
import type { Tool } from './tool.ts';

/** How a server names itself. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/**
 * What a server offers: the engine speaks the protocol, this says about what. `Session` is whatever
 * the server needs to know of who asks; the engine hands it through and looks at nothing in it.
 * There are no sessions of the protocol: each request brings its own.
 *
 * A capability is declared when its member is there, and what is not declared does not exist.
 */
export interface ServerDefinition<Session> {
  readonly info: ServerInfo;
  /** What a client tells its agent about this server. */
  instructions(session: Session): string;
  /**
   * False: tools, prompts or instructions depend on the caller or may change, so clients keep none
   * of them.
   */
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
   * Tells when the list of tools changes, until what it returned is called; `undefined`: for this
   * session it never does. Modern era only.
   */
  readonly watchTools?: WatchList<Session>;
  readonly watchPrompts?: WatchList<Session>;
  /** True: log messages go along with answers where a client asks for them (modern era only). */
  readonly logs?: true;
  /**
   * 32 random bytes: what a client keeps for the server between two requests is sealed with them.
   * Absent: nothing may ask for input.
   */
  readonly sealingKey?: Uint8Array;
}

export type WatchList<Session> = (
  session: Session,
  changed: () => void,
) => (() => void) | undefined;
