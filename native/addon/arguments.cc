#include "addon/arguments.h"

#include <cmath>
#include <string>

namespace wafstate::addon {

std::optional<Bytes> BytesArgument(const Napi::Value& value, const char* name) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    ThrowTypeError(value.Env(), name, "a Uint8Array");
    return std::nullopt;
  }
  const auto array = value.As<Napi::Uint8Array>();
  return Bytes(array.Data(), array.ElementLength());
}

std::optional<Buffer> ByteStringArgument(const Napi::Value& value, const char* name) {
  const std::u16string text =
      value.IsString() ? value.As<Napi::String>().Utf16Value() : std::u16string(1, 0xffff);
  Buffer bytes;
  bytes.reserve(text.size());
  for (const char16_t unit : text) {
    if (unit > 0xff) {
      ThrowTypeError(value.Env(), name, "a string of bytes");
      return std::nullopt;
    }
    bytes.push_back(static_cast<std::uint8_t>(unit));
  }
  return bytes;
}

std::optional<std::uint64_t> IntegerArgument(const Napi::Value& value, const char* name) {
  constexpr double kMaxSafeInteger = 9007199254740991.0;
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= kMaxSafeInteger) || std::trunc(number) != number) {
    ThrowTypeError(value.Env(), name, "an integer from 0 to 2^53-1");
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(number);
}

std::optional<std::int64_t> Int64Argument(const Napi::Value& value, const char* name) {
  bool lossless = false;
  const std::int64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Int64Value(&lossless) : 0;
  if (!lossless) {
    ThrowTypeError(value.Env(), name, "a bigint in the range of a signed 64-bit integer");
    return std::nullopt;
  }
  return number;
}

void ThrowTypeError(Napi::Env env, const char* name, const char* wanted) {
  Napi::TypeError::New(env, std::string(name) + " must be " + wanted).ThrowAsJavaScriptException();
}

}  // namespace wafstate::addon
