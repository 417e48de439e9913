{
  "variables": {
    # liblmdb comes from the sources that the lmdb package ships, so that the addon and that package
    # agree on the file format and on the lock file. The folder is looked for without following links:
    # gyp mirrors the path below build/, and a path that climbs would leave it.
    "lmdb_dir": "<!(node -p \"require('node:path').relative('.', require.resolve.paths('lmdb').map((d) => d + '/lmdb/dependencies/lmdb/libraries/liblmdb').find((d) => require('node:fs').existsSync(d)))\")",
    "napi_include": "<!(node -p \"require('node-addon-api').include_dir\")"
  },
  "target_defaults": {
    "default_configuration": "Release",
    "configurations": {
      "Release": {
        "cflags": ["-O3"],
        "xcode_settings": { "GCC_OPTIMIZATION_LEVEL": "3" }
      }
    },
    "cflags": ["-fPIC", "-fvisibility=hidden"],
    "xcode_settings": {
      "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
      "MACOSX_DEPLOYMENT_TARGET": "11.0"
    }
  },
  "targets": [
    {
      "target_name": "liblmdb",
      "type": "static_library",
      # The same two switches as in the lmdb package: both decide the layout of what is shared on disk.
      "defines": ["MDB_MAXKEYSIZE=0", "MDB_USE_ROBUST"],
      "sources": [
        # Includes mdb.c.
        "native/lmdb/liblmdb.c",
        "<(lmdb_dir)/midl.c",
        "<(lmdb_dir)/chacha8.c"
      ],
      "include_dirs": ["<(lmdb_dir)"],
      "cflags": ["-w"],
      "xcode_settings": { "WARNING_CFLAGS": ["-w"] },
      "direct_dependent_settings": {
        "include_dirs": ["<(lmdb_dir)"],
        "defines": ["MDB_MAXKEYSIZE=0", "MDB_USE_ROBUST"]
      }
    },
    {
      "target_name": "wafstate",
      "dependencies": ["liblmdb"],
      # Every .cc file of the two folders; a new file needs no line here.
      "sources": [
        "<!@(node -p \"require('node:fs').readdirSync('native', { recursive: true }).map((f) => 'native/' + f.replaceAll('\\\\\\\\', '/')).filter((f) => /^native.(core|addon).*[.]cc$/.test(f)).sort().join(' ')\")"
      ],
      "include_dirs": ["native", "<(napi_include)"],
      # A thread that is being terminated cannot make or throw anything; without the last macro that ends the process.
      "defines": [
        "NAPI_VERSION=8",
        "NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS",
        "NODE_ADDON_API_DISABLE_DEPRECATED",
        "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"
      ],
      "cflags": ["-Wall", "-Wextra", "-Werror"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20"],
      "cflags_cc+": [
        "-std=c++20",
        "-fno-exceptions",
        "-fno-rtti",
        "-fvisibility-inlines-hidden"
      ],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
        "CLANG_CXX_LIBRARY": "libc++",
        "GCC_ENABLE_CPP_EXCEPTIONS": "NO",
        "GCC_ENABLE_CPP_RTTI": "NO",
        "GCC_INLINES_ARE_PRIVATE_EXTERN": "YES",
        "WARNING_CFLAGS": ["-Wall", "-Wextra", "-Werror"]
      },
      "conditions": [
        ["OS=='linux'", {
          # Only the two entry points of a Node-API module are exported. The lmdb package, loaded into the
          # same process, brings functions of the same names as our liblmdb, and other addons bring other
          # copies of the C++ runtime, which is linked in so that a prebuilt binary runs on older systems.
          "ldflags": [
            "-Wl,--version-script=<(module_root_dir)/native/addon/exports.map",
            "-static-libstdc++",
            "-static-libgcc"
          ]
        }]
      ]
    }
  ]
}
