import type { InputRequired } from './input-required.ts';
import type { RequestContext } from './request-context.ts';
import type { Content } from './tool.ts';

/** A text with which a client's user can start an agent. */
export interface Prompt<Session> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  /** Called with all required arguments. Throws `RpcError` for invalid values. */
  get(
    args: ReadonlyMap<string, string>,
    context: RequestContext<Session>,
  ): Promise<readonly PromptMessage[] | InputRequired>;
}

export interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Content;
}

/** The text typed so far for one argument of a prompt or of a URI template. */
export interface CompletionRequest {
  readonly ref:
    | { readonly kind: 'prompt'; readonly name: string }
    | { readonly kind: 'resource'; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments that are already filled in. */
  readonly others: ReadonlyMap<string, string>;
}

export interface Completion {
  /** All matches; the engine sends the first hundred and their total number. */
  readonly values: readonly string[];
}
