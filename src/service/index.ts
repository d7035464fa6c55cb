/**
 * Start a service from code, and be a client of one: the entry `reducerdb` in Node. Modules import
 * `reducerdb/server`.
 *
 * @module
 */

export * from '../client/root.ts';
export {
  ConfigurationError,
  type ListenAddress,
  type ServiceConfiguration,
} from './configuration.ts';
export { type Service, startService } from './start-service.ts';
