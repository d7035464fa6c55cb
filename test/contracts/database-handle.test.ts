import { shopOpener } from '../support/shop.ts';
import { databaseHandleContract } from './database-handle.contract.ts';

databaseHandleContract('local', shopOpener('local'));
databaseHandleContract('thread', shopOpener('thread'));
databaseHandleContract('process', shopOpener('process'));
