import { shopOpener } from '../support/shop.ts';
import { liveConnectionContract } from './live-connection.contract.ts';

liveConnectionContract('local', shopOpener('local'));
liveConnectionContract('thread', shopOpener('thread'));
liveConnectionContract('process', shopOpener('process'));
