import type { Report } from '../node/report-line.ts';
import type { HostRow } from '../shared-log/directory.ts';
import type { ClusterSecret } from './cluster-secret.ts';
import type { JoinedHost } from './join-cluster.ts';
import type { LinkServerOptions } from './link-server.ts';
import type { MembershipOptions } from './membership.ts';

export interface ClusterPartOptions
  extends Pick<LinkServerOptions, 'listen' | 'onRequest' | 'onUpgrade'>,
    Pick<MembershipOptions, 'leaseMillis' | 'beatMillis' | 'now' | 'onReplaced'> {
  readonly joined: JoinedHost;
  readonly secret: ClusterSecret;
  readonly facts: Pick<
    HostRow,
    'name' | 'clientAddress' | 'version' | 'formats' | 'memoryBytes' | 'zone'
  >;
  /** Where other hosts reach this one; absent: where it listens. */
  readonly advertise: string | undefined;
  readonly waitsForLocalSync: boolean;
  /** Whether leaders answer confirmed reads within a lease; the same on all hosts. */
  readonly isReadByLease?: boolean | undefined;
  /** Copies of each database, unless its operator says otherwise. */
  readonly copies?: number;
  readonly report: Report;
}
