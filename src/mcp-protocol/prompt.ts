import type { InputRequired } from './input-required.ts';
import type { RequestContext } from './request-context.ts';
import type { Content } from './tool.ts';

/** A text that a client's user can start an agent with. */
export interface Prompt<Session> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  /** All required arguments are there. Throws `RpcError` for values that make no sense. */
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

/** What a client's user has typed so far, for one argument of a prompt or of a template's URI. */
export interface CompletionRequest {
  readonly ref:
    | { readonly kind: 'prompt'; readonly name: string }
    | { readonly kind: 'resource'; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments that are filled in already. */
  readonly others: ReadonlyMap<string, string>;
}

export interface Completion {
  /** All that fit; the engine sends the first hundred and says how many there are. */
  readonly values: readonly string[];
}
