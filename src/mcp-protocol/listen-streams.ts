/**
 * `subscriptions/listen`: a stream that notifies a client of changes until either side ends it. The
 * first message lists the accepted kinds of changes. Each message names the subscription, as does
 * the final result when the server ends the stream.
 */
import { limits } from '../limits.ts';
import { whenAborted } from './abort.ts';
import type { EngineReply, EngineRequest } from './engine-request.ts';
import { notificationText, type RequestMessage, resultText } from './json-rpc.ts';
import { RawJson } from './json-text.ts';
import { metaKey } from './meta.ts';
import { modernMembers } from './method.ts';
import { Outgoing } from './outgoing.ts';
import { ownText } from './own-text.ts';
import { RunningRequests } from './running-requests.ts';
import type { ServerDefinition } from './server-definition.ts';
import { type Changes, describeChanges, readWanted } from './wanted-changes.ts';

/** Whether the server has anything that can change and be watched. */
export function canListen<Session>(definition: ServerDefinition<Session>): boolean {
  const { watchTools, watchPrompts, resources } = definition;
  return [watchTools, watchPrompts, resources?.watch].some((watch) => watch !== undefined);
}

export class ListenStreams<Session> {
  readonly #definition: ServerDefinition<Session>;
  readonly #stopping: AbortSignal;
  readonly #running = new RunningRequests(limits.mcpListenStreamsMax);

  /** `stopping`: aborting it ends every stream. */
  constructor(definition: ServerDefinition<Session>, stopping: AbortSignal) {
    this.#definition = definition;
    this.#stopping = stopping;
  }

  async open(
    message: RequestMessage,
    { caller, session, signal }: EngineRequest<Session>,
  ): Promise<EngineReply> {
    const id = ownText(message.id);
    const wanted = readWanted(message.params);
    const running = this.#running.begin({ caller });
    const outgoing = new Outgoing(() => running.cancel());
    const _meta = { [metaKey.subscriptionId]: new RawJson(id) };
    const end = () => {
      outgoing.end(resultText(id, modernMembers({ members: {} }, this.#definition.info, _meta)));
      running.cancel();
    };
    const tell: Tell = (method, members = {}, key = method) =>
      outgoing.put(key, notificationText(method, { ...members, _meta }));
    try {
      const close = await this.#watch(wanted, session, { tell, end });
      void running.cancelled.then(close).then(running.end);
    } catch (error) {
      running.end();
      throw error;
    }
    const forget = [whenAborted(signal, running.cancel), whenAborted(this.#stopping, end)];
    void running.cancelled.then(() => {
      for (const one of forget) one();
    });
    return { kind: 'stream', messages: outgoing };
  }

  /** Starts watching; returns a function that ends it. */
  async #watch(wanted: Changes, session: Session, { tell, end }: Told): Promise<() => void> {
    const { resources, watchTools, watchPrompts } = this.#definition;
    const acknowledge = (changes: Partial<Changes>) => {
      const notifications = describeChanges({ ...nothing, ...changes });
      tell('notifications/subscriptions/acknowledged', { notifications });
    };
    // Claims the first position, so that changes during setup are queued behind it.
    acknowledge(nothing);
    const watch = await resources?.watch?.(
      {
        uris: wanted.uris,
        list: wanted.resources,
        updated: (uri) => tell('notifications/resources/updated', { uri }, `updated ${uri}`),
        listChanged: () => tell('notifications/resources/list_changed'),
        ended: end,
      },
      session,
    );
    const listChanged = (list: 'tools' | 'prompts') => () =>
      tell(`notifications/${list}/list_changed`);
    const tools = wanted.tools ? watchTools?.(session, listChanged('tools')) : undefined;
    const prompts = wanted.prompts ? watchPrompts?.(session, listChanged('prompts')) : undefined;
    acknowledge({
      tools: tools !== undefined,
      prompts: prompts !== undefined,
      resources: watch?.list ?? false,
      uris: watch?.uris ?? [],
    });
    return () => {
      watch?.close();
      tools?.();
      prompts?.();
    };
  }
}

/** Sends a notification; a waiting one with the same key is replaced. */
type Tell = (method: string, members?: object, key?: string) => void;

interface Told {
  readonly tell: Tell;
  readonly end: () => void;
}

const nothing: Changes = { tools: false, prompts: false, resources: false, uris: [] };
