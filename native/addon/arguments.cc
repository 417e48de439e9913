#include "addon/arguments.h"

#include <cmath>
#include <string>

namespace wafstate::addon {

namespace {

void Throw(const Napi::CallbackInfo& info, const char* name, const char* wanted) {
  Napi::TypeError::New(info.Env(), std::string(name) + " must be " + wanted).ThrowAsJavaScriptException();
}

}  // namespace

std::optional<Bytes> BytesArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  const Napi::Value value = info[index];
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    Throw(info, name, "a Uint8Array");
    return std::nullopt;
  }
  const auto array = value.As<Napi::Uint8Array>();
  return Bytes(array.Data(), array.ElementLength());
}

std::optional<std::uint64_t> IntegerArgument(const Napi::CallbackInfo& info, std::size_t index,
                                             const char* name) {
  const Napi::Value value = info[index];
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= 9007199254740991.0) || std::trunc(number) != number) {
    Throw(info, name, "an integer from 0 to 2^53-1");
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(number);
}

std::optional<std::int64_t> Int64Argument(const Napi::CallbackInfo& info, std::size_t index,
                                          const char* name) {
  const Napi::Value value = info[index];
  bool lossless = false;
  const std::int64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Int64Value(&lossless) : 0;
  if (!lossless) {
    Throw(info, name, "a bigint in the range of a signed 64-bit integer");
    return std::nullopt;
  }
  return number;
}

}  // namespace wafstate::addon
