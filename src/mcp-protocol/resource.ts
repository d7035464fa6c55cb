import type { InputRequired } from './input-required.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceBlob, ResourceText } from './tool.ts';

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

export interface ResourceTemplate {
  /** As in RFC 6570. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** The resources of a server, within the caller's rights. */
export interface Resources<Session> {
  /** In a stable order. */
  list(session: Session): Promise<readonly Resource[]>;
  templates(session: Session): Promise<readonly ResourceTemplate[]>;
  /** Returns `undefined` if the resource does not exist, at least for this caller. */
  read(
    uri: string,
    context: RequestContext<Session>,
  ): Promise<readonly (ResourceText | ResourceBlob)[] | InputRequired | undefined>;
  /** Absent: resources cannot be watched. Modern era only. */
  watch?(request: WatchRequest, session: Session): Promise<Watch>;
}

export interface WatchRequest {
  /** Resources whose content is watched. */
  readonly uris: readonly string[];
  /** Whether the list of resources is watched too. */
  readonly list: boolean;
  /** Called for a changed resource, at most a few times per second. */
  updated(uri: string): void;
  listChanged(): void;
  /** Called when the watch ends on its own: the service stops, or the caller lost its rights. */
  ended(): void;
}

export interface Watch {
  /** The watched URIs of the request; the others do not exist for the caller. */
  readonly uris: readonly string[];
  readonly list: boolean;
  close(): void;
}
