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
  /** RFC 6570. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** What a server has to read, within the rights of who asks. */
export interface Resources<Session> {
  /** In a stable order. */
  list(session: Session): Promise<readonly Resource[]>;
  templates(session: Session): Promise<readonly ResourceTemplate[]>;
  /** `undefined`: there is none of this URI, or none for this caller. */
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
  /** True: also which resources there are. */
  readonly list: boolean;
  /** A resource changed; told at most a few times a second. */
  updated(uri: string): void;
  listChanged(): void;
  /** The watch is over by itself: the service stops, or the caller lost its rights. */
  ended(): void;
}

export interface Watch {
  /** Those of the request that are watched; the others do not exist for the caller. */
  readonly uris: readonly string[];
  readonly list: boolean;
  close(): void;
}
