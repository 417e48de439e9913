/** The key-value store: keys with a time to live, on the engines of the contract, from a configuration in YAML. */

export { checkStores, type DescribedEntry } from './config/entries.js';
export type { Entry } from './entry.js';
export type { Json } from './json.js';
export type { ListItem, ListOptions, Page } from './key-value.js';
export type { PermissionRequest, Permissions, StorePermission } from './permissions.js';
export { loadStores, type OpenOptions, type StoreRegistry, type StoresOptions } from './registry.js';
export type {
  Counter,
  Operation,
  OperationResult,
  PutOptions,
  SetOptions,
  StoreIncrementOptions,
} from './steps.js';
export type { Store, StoreInfo } from './store.js';
export type { StoreValue } from './value.js';
export type { StoreEvent, WatchOptions } from './watch.js';
